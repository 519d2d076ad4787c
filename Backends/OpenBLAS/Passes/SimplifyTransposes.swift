import CoreAIBackend
import CoreAIGraph
import CoreAIOps

/// Transposes move towards each other until they cancel: two in a row become one, one that moves only axes of size 1 becomes a
/// view, and picking rows by constant indices (`gather_nd` over the first axis) picks along the axis that was moved there.
func simplifyTransposes(_ rewriter: inout GraphRewriter) throws(BackendError) {
    /// Transposes made or met so far: what they read and how they permute it.
    var known: [ValueID: (source: ValueID, permutation: [Int])] = [:]
    /// Constants that are repeated to a larger shape.
    var repeated: [ValueID: ValueID] = [:]
    try rewriter.rewriteOps { (rewriter, op) throws(BackendError) in
        if op.name.hasPrefix("primitive.broadcast_"), let source = op.operands.first, let result = op.results.first,
            rewriter.constants.contains(source)
        {
            repeated[result] = source
        }
        if op.name == transposeName, let permutation = op.axes("permutation", rank: rewriter.type(op.operands[0]).rank)
        {
            var (source, order) = (op.operands[0], permutation)
            if let before = known[source] {
                (source, order) = (before.source, permutation.map { before.permutation[$0] })
            }
            return replaceTranspose(&rewriter, op, source, order, &known)
        }
        var taken = try take(&rewriter, op)
        if taken == nil { taken = try takeAlong(&rewriter, op, repeated) }
        if let taken {
            let x = taken.operands[0]
            guard let before = known[x], let axis = taken.numbers("axis")?.first else { return [taken] }
            var inner = taken
            inner.operands[0] = before.source
            inner.set("axis", [before.permutation[axis]])
            var shape = rewriter.type(before.source).shape
            shape[before.permutation[axis]] = rewriter.type(taken.results[0]).shape[axis]
            let result = rewriter.graph.makeValue(.tensor(TensorType(rewriter.type(x).scalar, shape)))
            inner.results = [result]
            var outer = op
            outer.name = transposeName
            outer.attributes = []
            outer.operands = [result]
            return [inner] + replaceTranspose(&rewriter, outer, result, before.permutation, &known)
        }
        return [op]
    }
}

private func replaceTranspose(
    _ rewriter: inout GraphRewriter, _ op: Op, _ source: ValueID, _ permutation: [Int],
    _ known: inout [ValueID: (source: ValueID, permutation: [Int])]
) -> [Op] {
    if permutation == Array(permutation.indices) {
        rewriter.replace(op.results[0], by: source)
        return []
    }
    let shape = rewriter.type(source).shape
    let moving = permutation.filter { shape[$0] != 1 }
    if moving == moving.sorted() { return [rewriter.reshape(source, to: op.results[0], like: op)] }
    known[op.results[0]] = (source, permutation)
    var op = op
    op.name = transposeName
    op.operands = [source]
    op.set("permutation", permutation)
    return [op]
}

/// `gather_nd` of whole rows by constant indices as `cpu.take` along axis 0.
private func take(_ rewriter: inout GraphRewriter, _ op: Op) throws(BackendError) -> Op? {
    if op.name == "cpu.take" { return op }
    guard op.name == "primitive.gather_nd_v1", op.operands.count == 2 else { return nil }
    let (x, indices) = (rewriter.type(op.operands[0]), rewriter.type(op.operands[1]))
    guard indices.rank == 2, indices.shape[1] == 1, let size = x.shape.first?.constant,
        indices.scalar.isInteger, !indices.scalar.isSubByte,
        let numbers = try rewriter.constants.withTensor(
            op.operands[1],
            { (tensor) throws(BackendError) in
                tensor.integers
            }),
        !numbers.isEmpty, numbers.allSatisfy({ $0 >= 0 && $0 < size })
    else { return nil }
    var taken = op
    taken.name = "cpu.take"
    taken.operands = [op.operands[0]]
    taken.set("axis", [0])
    taken.set("indices", numbers)
    return taken
}

/// `gather_along_axis` by indices that change along the axis alone, as exporters repeat the heads of keys and values.
private func takeAlong(
    _ rewriter: inout GraphRewriter, _ op: Op, _ repeated: [ValueID: ValueID]
) throws(BackendError) -> Op? {
    guard op.name == "primitive.gather_along_axis_v1", op.operands.count == 2, op[attribute: sizedByOpAttribute] == nil
    else { return nil }
    let (x, indices) = (rewriter.type(op.operands[0]), rewriter.type(op.operands[1]))
    let source = repeated[op.operands[1]] ?? op.operands[1]
    guard let axis = op.axes("axis", rank: x.rank)?.first, indices.rank == x.rank,
        x.shape.indices.allSatisfy({ $0 == axis || x.shape[$0] == indices.shape[$0] }),
        let size = x.shape[axis].constant, rewriter.constants.contains(source),
        let shape = rewriter.type(source).staticShape, shape.count == x.rank,
        shape.indices.allSatisfy({ $0 == axis || shape[$0] == 1 }), shape[axis] > 0,
        indices.shape[axis] == Dimension(shape[axis]),
        indices.scalar.isInteger, !indices.scalar.isSubByte,
        let numbers = try rewriter.constants.withTensor(source, { (tensor) throws(BackendError) in tensor.integers }),
        numbers.allSatisfy({ $0 >= 0 && $0 < size })
    else { return nil }
    var taken = op
    taken.name = "cpu.take"
    taken.operands = [op.operands[0]]
    taken.set("axis", [axis])
    taken.set("indices", numbers)
    return taken
}
