import CoreAIBackend
import CoreAIGraph
import CoreAIOps
import Synchronization

/// Every pointwise op of the table, its elements shared out over the worker pool.
let pointwiseClaim = KernelClaim(
    Set(
        OpTable.definitions.filter { definition in
            if case .pointwise = definition.form { true } else { false }
        }.flatMap { [$0.name] + $0.aliases }),
    accepts: { _, _, _ in nil },
    kernel: { (context) throws(KernelError) in
        guard case .pointwise(let expression)? = OpTable[context.op.name]?.form else {
            throw KernelError("\(context.op.name) is not pointwise")
        }
        let (operands, result) = (context.operands, context.results[0])
        let program = PointwiseProgram(
            expression(context.op), operands: operands.map(\.scalar), result: result.scalar)
        let width = WorkerPool.shared.width
        guard width > 1, result.count >= elementsWorthSharing else { return try program.run(operands, result) }
        let failure = Mutex<KernelError?>(nil)
        WorkerPool.shared.parallel(width) { part in
            do throws(KernelError) {
                let range = result.count * part / width..<result.count * (part + 1) / width
                try program.run(operands, result, range)
            } catch {
                failure.withLock { $0 = $0 ?? error }
            }
        }
        if let error = failure.withLock({ $0 }) { throw error }
    })

/// Below this a hand-over to other threads costs more than it saves.
private let elementsWorthSharing = 32_768
