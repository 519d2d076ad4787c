import Foundation
package import CoreAIGraph
package import CoreAIOps

/// One op that a backend has a kernel for. The claim lives beside the kernel, so that the two cannot drift apart.
package struct KernelClaim: Sendable {
    package var names: Set<String>
    /// A reason not to take this op with these types, or nil.
    package var accepts: @Sendable (Op, _ operands: [TensorType], _ results: [TensorType]) -> Rejection?
    /// The kernel for an op whose constant operands are given; it may keep a form of them that suits it.
    package var makeKernel: @Sendable (_ constants: [HostTensor?]) -> ReferenceKernel

    package init(
        _ names: Set<String>, accepts: @escaping @Sendable (Op, [TensorType], [TensorType]) -> Rejection?,
        kernel: @escaping ReferenceKernel
    ) {
        self.init(names, accepts: accepts, makeKernel: { _ in kernel })
    }

    package init(
        _ names: Set<String>, accepts: @escaping @Sendable (Op, [TensorType], [TensorType]) -> Rejection?,
        makeKernel: @escaping @Sendable (_ constants: [HostTensor?]) -> ReferenceKernel
    ) {
        self.names = names
        self.accepts = accepts
        self.makeKernel = makeKernel
    }
}

extension Proposal {
    /// A group for each op that a claim accepts, a rejection for each other.
    package static func matching(_ claims: [KernelClaim], in graph: Graph, backend: String) -> Proposal {
        var proposal = Proposal()
        for (index, op) in graph.ops.enumerated() where !op.isConstant {
            let operands = op.operands.compactMap { graph[$0].type.tensor }
            let results = op.results.compactMap { graph[$0].type.tensor }
            guard operands.count == op.operands.count, results.count == op.results.count else {
                proposal.rejections[OpID(index)] = "operands are not tensors"
                continue
            }
            let answers = claims.filter { $0.names.contains(op.name) }.map { $0.accepts(op, operands, results) }
            if answers.isEmpty {
                proposal.rejections[OpID(index)] = Rejection("no \(op.plainName) kernel")
            } else if let rejection = answers.first, !answers.contains(nil) {
                proposal.rejections[OpID(index)] = rejection
            } else {
                let cost = Cost(nanoseconds: Cost.estimate(of: op, operands, results))
                proposal.groups.append(Group(ops: [OpID(index)], cost: cost))
            }
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

extension Op {
    /// The name without its prefix and version: `conv2d` for `primitive.conv2d_v1`.
    package var plainName: String {
        var text = name[...]
        if let dot = text.lastIndex(of: ".") { text = text[text.index(after: dot)...] }
        if let mark = text.range(of: "_v", options: .backwards), text[mark.upperBound...].allSatisfy(\.isNumber) {
            text = text[..<mark.lowerBound]
        }
        return String(text)
    }
}
