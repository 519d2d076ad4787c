import CoreAIBackend
import CoreAIGraph
import CoreAIOps
import Synchronization

/// A pointwise op of types that chains do not take (integers, 64-bit floats, complex numbers), its elements shared out over
/// the pool.
enum ScalarStep {
    private static let elementsWorthSharing = 32_768

    static func make(_ op: Op, _ graph: Graph) -> HostStep? {
        guard let expression = op.pointwise, op.results.count == 1, op[attribute: sizedByOpAttribute] == nil else {
            return nil
        }
        let (operands, result) = (op.operands, op.results[0])
        let scalars = operands.map { graph.tensorType($0).scalar }
        let resultScalar = graph.tensorType(result).scalar
        let program = PointwiseProgram(expression, operands: scalars, result: resultScalar)
        return HostStep(op, operands: operands, results: [result]) { (shapes) throws(BackendError) in
            let (inputs, output) = (operands.map { shapes[$0] }, shapes[result])
            let count = output.reduce(1, *)
            return HostCall { (memory) throws(KernelError) in
                let tensors = operands.indices.map { HostTensor(scalars[$0], inputs[$0], memory[operands[$0]]) }
                let target = HostTensor(resultScalar, output, memory[result])
                let width = WorkerPool.shared.width
                guard width > 1, count >= elementsWorthSharing else { return try program.run(tensors, target) }
                let failure = Guarded<KernelError?>(nil)
                inParts(width) { part in
                    do throws(KernelError) {
                        try program.run(tensors, target, share(count, part, of: width))
                    } catch {
                        failure.withLock { $0 = $0 ?? error }
                    }
                }
                if let error = failure.withLock({ $0 }) { throw error }
            }
        }
    }
}
