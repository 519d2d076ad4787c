package import CoreAIGraph
import CoreAIOps

extension Proposal {
    /// What a host backend offers: every op of the table but control flow, each by itself.
    /// - Parameter slowness: how many times the estimate of a kernel made for the processor each op takes.
    package static func allOps(of graph: Graph, slowness: Int = 1) -> Proposal {
        var proposal = Proposal()
        for (index, op) in graph.ops.enumerated() where !op.isConstant {
            guard let definition = OpTable[op.name] else {
                proposal.rejections[OpID(index)] = "the op table has no such op"
                continue
            }
            if case .control = definition.form {
                proposal.rejections[OpID(index)] = "control flow is run by the executor"
                continue
            }
            let operands = op.operands.compactMap { graph[$0].type.tensor }
            let results = op.results.compactMap { graph[$0].type.tensor }
            let cost = Cost(nanoseconds: slowness * Cost.estimate(of: op, operands, results))
            proposal.groups.append(Group(ops: [OpID(index)], cost: cost))
        }
        return proposal
    }
}

extension Cost {
    /// Nanoseconds on one core at 50 GFLOP/s and 10 GB/s; sizes that depend on the input count as 128.
    package static func estimate(of op: Op, _ operands: [TensorType], _ results: [TensorType]) -> Int {
        func bounded(_ cost: Int) -> Int { min(max(1, cost), 1 << 48) }
        func elements(_ type: TensorType) -> Int {
            type.shape.reduce(1) { product, size in
                let (value, overflow) = product.multipliedReportingOverflow(by: max(1, size.constant ?? 128))
                return overflow ? Int.max / 4096 : value
            }
        }
        let bytes = (operands + results).reduce(0) { $0 &+ (elements($1) / 16 &* $1.scalar.byteStride) } / 10 &* 16
        guard op.name.contains("matmul") || op.name.contains("conv"), operands.count >= 2, let result = results.first
        else { return bounded(bytes) }
        let inner = op.name.contains("matmul") ? operands[1].shape.dropLast().last : nil
        let depth = inner?.constant ?? operands[1].shape.dropFirst().reduce(1) { $0 &* max(1, $1.constant ?? 128) }
        return bounded(bytes &+ elements(result) / 25 &* max(1, depth))
    }
}
