import CoreAIBackend
import CoreAIGraph
import CoreAIOps

extension Selection {
    /// The attention that ends in the product at `index`: softmax of scaled, perhaps masked scores, times values.
    mutating func attention(_ index: Int, _ result: ValueID, _ permutation: [Int]) -> HostStep? {
        let last = graph.ops[index]
        guard let softmax = privateOp(last.operands[0]), softmax.name == "softmax_v1" else { return nil }
        let rank = type(softmax.operands[0]).rank
        guard softmax.axes("axis", rank: rank) == [rank - 1], type(softmax.operands[0]).scalar == .float32 else {
            return nil
        }
        var scores = softmax.operands[0]
        var mask: ValueID?
        var scale: Float = 1
        if let add = privateOp(scores), add.isElementwise("add") {
            for (inner, other) in [(add.operands[0], add.operands[1]), (add.operands[1], add.operands[0])] {
                guard isMask(other, of: scores), type(inner).shape == type(scores).shape, privateOp(inner) != nil
                else { continue }
                (scores, mask) = (inner, other)
                break
            }
        }
        scale *= takeScale(&scores)
        guard let product = privateOp(scores), product.name.hasSuffix("batch_matmul_v1"),
            product.operands.allSatisfy({ type($0).scalar == .float32 })
        else { return nil }
        var queries = product.operands[0]
        scale *= takeScale(&queries)
        let q = StridedOperand(queries, graph, definitions, accepts: Self.hasDenseRows)
        let k = StridedOperand(product.operands[1], graph, definitions) { view in
            let rank = view.axes.count
            return view.stride(rank - 2) == 1 && view.stride(rank - 1) != nil
        }
        let v = StridedOperand(last.operands[1], graph, definitions, accepts: Self.hasDenseRows)
        guard let q, let k, let v else { return nil }
        // Keys that lie with their positions side by side are no rows.
        guard hasDenseKeys(product.operands[1]) else { return nil }
        return AttentionStep(q: q, k: k, v: v, mask: mask, scale: scale)
            .step(last, result: result, permutation: permutation)
    }

    static func hasDenseRows(_ view: StridedView) -> Bool {
        let rank = view.axes.count
        return (view.stride(rank - 1) == 1 || view.shape[rank - 1] <= 1) && view.stride(rank - 2) != nil
    }

    /// Whether the transposed keys come from a transpose that swaps the last two axes.
    private func hasDenseKeys(_ value: ValueID) -> Bool {
        guard let id = definitions[value.index], graph[id].name == transposeName else { return false }
        let rank = type(value).rank
        guard let permutation = graph[id].axes("permutation", rank: rank) else { return false }
        return permutation[rank - 2] == rank - 1
    }

    /// The op that makes a value nobody else reads.
    private func privateOp(_ value: ValueID) -> Op? {
        guard let id = definitions[value.index], uses[value.index].count == 1, !isOutput[value.index],
            !isAbsorbed[id.index]
        else { return nil }
        return graph[id]
    }

    /// A float tensor that repeats over the scores' leading axes and has all their keys.
    private func isMask(_ value: ValueID, of scores: ValueID) -> Bool {
        let (mask, full) = (type(value), type(scores))
        guard mask.scalar == .float32, mask.rank <= full.rank, mask.rank >= 1, mask.shape.last == full.shape.last else {
            return false
        }
        return zip(mask.shape, full.shape.suffix(mask.rank)).allSatisfy { $0 == $1 || $0 == 1 }
    }

    /// Takes a constant factor off a value that nobody else reads.
    private func takeScale(_ value: inout ValueID) -> Float {
        guard let op = privateOp(value) else { return 1 }
        if op.isElementwise("mul") {
            for (inner, factor) in [(op.operands[0], op.operands[1]), (op.operands[1], op.operands[0])] {
                if let number = constants.floats(factor, limit: 1)?.first, type(inner).shape == type(value).shape {
                    value = inner
                    return number
                }
            }
        }
        if op.isElementwise("divide"), let number = constants.floats(op.operands[1], limit: 1)?.first,
            type(op.operands[0]).shape == type(value).shape
        {
            value = op.operands[0]
            return 1 / number
        }
        return 1
    }
}
