import CoreAIGraph

let reshapeDefinitions = [
    OpDefinition(
        "primitive.reshape_v2", aliases: ["primitive.reshape_v1"],
        summary: "The same elements in another shape; one size given as -1 follows from the others.",
        signature: Signature([.data("x"), .steering("new_shape")]), form: .view,
        inferTypes: { context throws(GraphError) in
            let x = try context.tensor("x")
            context.resultValues = [context.values(of: "x")]
            guard let sizes = context.steering("new_shape") else {
                let rank = context.steeringCount("new_shape") ?? context.declaredTypes.first?.tensor?.rank
                guard let rank else { throw context.error("the rank of the result must be known") }
                return [.tensor(TensorType(x.scalar, context.dataDependentShape(rank: rank)))]
            }
            return [.tensor(TensorType(x.scalar, try reshaped(x, sizes, &context)))]
        },
        reference: view,
        examples: [
            Example(
                [.init(.float32, [2, 3], [1, 2, 3, 4, 5, 6]), .init(.int32, [2], [3, -1])],
                results: [.init(.float32, [3, 2], [1, 2, 3, 4, 5, 6])]),
            Example([.init(.int8, [1, 1], [-7]), .init(.uint32, [0], [])], results: [.init(.int8, [], [-7])]),
            Example(
                [.init(.float32, [0, 3], []), .init(.int32, [2], [-1, 3])], results: [.init(.float32, [0, 3], [])]),
        ]),
    OpDefinition(
        "primitive.expand_dims_v1",
        summary: "Inserts axes of size 1 at the given positions of the result.",
        signature: Signature([.data("x"), .steering("axes")]), form: .view,
        inferTypes: { context throws(GraphError) in
            let x = try context.tensor("x")
            let rank = x.rank + (try context.numbers("axes").count)
            let axes = Set(try context.axes("axes", rank: rank))
            guard x.rank + axes.count == rank else { throw context.error("an axis is named twice") }
            var sizes = x.shape[...]
            let shape = (0..<rank).map { axes.contains($0) ? 1 : sizes.removeFirst() }
            context.resultValues = [context.values(of: "x")]
            return [.tensor(TensorType(x.scalar, shape))]
        },
        reference: view,
        examples: [
            Example(
                [.init(.float32, [2], [1, 2]), .init(.int32, [2], [-1, 0])],
                results: [.init(.float32, [1, 2, 1], [1, 2])]),
            Example([.init(.bool, [], [1]), .init(.int32, [1], [0])], results: [.init(.bool, [1], [1])]),
            Example([.init(.float32, [0], []), .init(.uint32, [1], [1])], results: [.init(.float32, [0, 1], [])]),
        ]),
    OpDefinition(
        "primitive.shrink_dims_v1",
        summary: "Removes the given axes, which have size 1.",
        signature: Signature([.data("x"), .steering("axes")]), form: .view,
        inferTypes: { context throws(GraphError) in
            let x = try context.tensor("x")
            let axes = Set(try context.axes("axes", rank: x.rank))
            for axis in axes.sorted() {
                _ = try context.same(x.shape[axis], 1, "axis \(axis) is removed and must have size 1")
            }
            context.resultValues = [context.values(of: "x")]
            return [.tensor(TensorType(x.scalar, x.shape.indices.filter { !axes.contains($0) }.map { x.shape[$0] }))]
        },
        reference: view,
        examples: [
            Example(
                [.init(.float32, [1, 2, 1], [1, 2]), .init(.int32, [2], [-1, 0])],
                results: [.init(.float32, [2], [1, 2])]),
            Example([.init(.int64, [1], [9]), .init(.int32, [1], [0])], results: [.init(.int64, [], [9])]),
            Example([.init(.float32, [0, 1], []), .init(.int32, [1], [1])], results: [.init(.float32, [0], [])]),
        ]),
]

private let view: ReferenceKernel = { context throws(KernelError) in
    try copyAll(context.operands[0], to: context.results[0])
}

private func reshaped(
    _ x: TensorType, _ sizes: [Dimension], _ context: inout InferenceContext
) throws(GraphError) -> [Dimension] {
    let total = x.elementCount
    let inferredAxes = sizes.indices.filter { sizes[$0].constant == -1 }
    guard inferredAxes.count <= 1 else { throw context.error("'new_shape' has more than one -1") }
    guard let inferred = inferredAxes.first else {
        let shape = try context.checkedShape(sizes, "new_shape")
        _ = try context.same(total, shape.reduce(1, *), "\(x) has another number of elements than \(shape)")
        return shape
    }
    var shape = sizes
    shape[inferred] = 1
    shape = try context.checkedShape(shape, "new_shape")
    let others = shape.reduce(1, *)
    if let total = total.constant, let others = others.constant, others == 0 || total % others != 0 {
        throw context.error("\(total) elements do not divide into \(sizes)")
    }
    let size = total.floorDivided(by: others)
    if size.isUnknown {
        shape[inferred] = context.dataDependentSize(axis: inferred, rank: shape.count)
    } else {
        _ = try context.same(total, size * others, "\(x) does not divide into \(sizes)")
        shape[inferred] = size
    }
    return shape
}
