import CoreAIGraph

let broadcastDefinitions = [
    OpDefinition(
        "primitive.broadcast_to_v1",
        summary: "Repeats axes of size 1, and adds leading axes, to reach the given shape.",
        signature: Signature([.data("x"), .steering("shape")]),
        inferTypes: { context throws(GraphError) in
            let x = try context.tensor("x")
            guard let rank = context.steeringCount("shape") ?? context.declaredTypes.first?.tensor?.rank else {
                throw context.error("the rank of the result must be known")
            }
            guard rank >= x.rank else { throw context.error("\(x) does not broadcast to rank \(rank)") }
            guard let sizes = context.steering("shape") else {
                var shape = context.dataDependentShape(rank: rank)
                for (axis, size) in x.shape.enumerated() {
                    if let number = size.constant, number != 1 { shape[rank - x.rank + axis] = size }
                }
                return [.tensor(TensorType(x.scalar, shape))]
            }
            var shape = try context.checkedShape(sizes, "shape")
            for (axis, size) in x.shape.enumerated() where size.constant != 1 {
                let position = rank - x.rank + axis
                shape[position] = try repeated(size, to: shape[position], &context)
            }
            if let values = context.values(of: "x"), values.count == 1,
                let count = shape.reduce(1, *).constant, count <= 64
            {
                context.resultValues = [Array(repeating: values[0], count: count)]
            }
            return [.tensor(TensorType(x.scalar, shape))]
        },
        reference: broadcast,
        examples: [
            Example(
                [.init(.float32, [2, 1], [1, 2]), .init(.int32, [3], [2, 2, 2])],
                results: [.init(.float32, [2, 2, 2], [1, 1, 2, 2, 1, 1, 2, 2])]),
            Example([.init(.bool, [], [1]), .init(.uint32, [1], [3])], results: [.init(.bool, [3], [1, 1, 1])]),
            Example(
                [.init(.float32, [1, 3], [1, 2, 3]), .init(.uint32, [2], [0, 3])],
                results: [.init(.float32, [0, 3], [])]),
            Example([.init(.float32, [], [4]), .init(.int32, [0], [])], results: [.init(.float32, [], [4])]),
        ]),
    OpDefinition(
        "primitive.broadcast_in_dims_v1",
        summary: "Repeats the given axes, which have size 1, to the given sizes.",
        signature: Signature([.data("x"), .steering("dim_sizes"), .steering("axes")]),
        inferTypes: { context throws(GraphError) in
            let x = try context.tensor("x")
            let axes = try context.axes("axes", rank: x.rank)
            guard Set(axes).count == axes.count else { throw context.error("an axis is named twice") }
            let sizes = context.steering("dim_sizes")
            if let sizes, sizes.count != axes.count {
                throw context.error("\(axes.count) axes, but \(sizes.count) sizes")
            }
            var shape = x.shape
            for (index, axis) in axes.enumerated() {
                if let size = sizes?[index], !size.isUnknown {
                    if let number = size.constant, number < 0 { throw context.error("negative size \(number)") }
                    shape[axis] = try repeated(x.shape[axis], to: size, &context)
                } else {
                    shape[axis] = context.dataDependentSize(axis: axis, rank: x.rank)
                }
            }
            return [.tensor(TensorType(x.scalar, shape))]
        },
        reference: broadcast,
        examples: [
            Example(
                [.init(.float32, [1, 2], [1, 2]), .init(.uint32, [1], [3]), .init(.int32, [1], [-2])],
                results: [.init(.float32, [3, 2], [1, 2, 1, 2, 1, 2])]),
            Example(
                [.init(.int8, [1, 2, 1], [1, 2]), .init(.uint32, [2], [2, 0]), .init(.int32, [2], [2, 0])],
                results: [.init(.int8, [0, 2, 2], [])]),
            Example(
                [.init(.int8, [1, 2, 1], [1, 2]), .init(.uint32, [2], [2, 1]), .init(.int32, [2], [2, 0])],
                results: [.init(.int8, [1, 2, 2], [1, 1, 2, 2])]),
        ]),
    OpDefinition(
        "primitive.broadcast_shapes_v1",
        summary: "The shape to which tensors of two shapes broadcast.",
        signature: Signature([.data("a"), .data("b")]),
        inferTypes: { context throws(GraphError) in
            let (a, b) = (try context.tensor("a"), try context.tensor("b"))
            guard a.rank == 1, b.rank == 1 else { throw context.error("shapes are vectors, these are \(a) and \(b)") }
            if let x = context.values(of: "a"), let y = context.values(of: "b") {
                let shape = try context.broadcast(x, y)
                context.resultValues = [shape]
                return [.tensor(TensorType(a.scalar, [Dimension(shape.count)]))]
            }
            return [.tensor(TensorType(a.scalar, [.maximum(a.shape[0], b.shape[0])]))]
        },
        reference: { context throws(KernelError) in
            let (a, b, result) = (context.tensor("a").integers, context.tensor("b").integers, context.results[0])
            for index in 0..<result.count {
                let fromEnd = result.count - index
                let x = fromEnd <= a.count ? a[a.count - fromEnd] : 1
                let y = fromEnd <= b.count ? b[b.count - fromEnd] : 1
                guard x == y || x == 1 || y == 1 else { throw KernelError("\(a) and \(b) do not broadcast") }
                try result.store(x == 1 ? y : x, at: index)
            }
        },
        examples: [
            Example(
                [.init(.uint32, [2], [3, 1]), .init(.uint32, [3], [5, 1, 4])],
                results: [.init(.uint32, [3], [5, 3, 4])]),
            Example([.init(.uint32, [0], []), .init(.uint32, [2], [0, 1])], results: [.init(.uint32, [2], [0, 1])]),
            Example([.init(.int32, [1], [1]), .init(.int32, [1], [0])], results: [.init(.int32, [1], [0])]),
        ]),
    OpDefinition(
        "primitive.get_shape_v2", aliases: ["primitive.get_shape_v1"],
        summary: "The operand's sizes.",
        signature: Signature([.data("x")]),
        inferTypes: { context throws(GraphError) in
            let x = try context.tensor("x")
            if !x.shape.contains(where: \.isUnknown) { context.resultValues = [x.shape] }
            return [.tensor(TensorType(context.declaredInteger(else: .uint32), [Dimension(x.rank)]))]
        },
        reference: { context throws(KernelError) in
            for (axis, size) in context.tensor("x").shape.enumerated() { try context.results[0].store(size, at: axis) }
        },
        examples: [
            Example([.init(.float32, [2, 0, 3], [])], results: [.init(.uint32, [3], [2, 0, 3])]),
            Example([.init(.float32, [], [1])], results: [.init(.uint32, [0], [])]),
        ]),
]

/// A size that is a symbol may turn out to be 1 or the target; the kernel checks that.
private func repeated(
    _ size: Dimension, to target: Dimension, _ context: inout InferenceContext
) throws(GraphError) -> Dimension {
    if let number = size.constant, number == 1 { return target }
    if size.constant == nil, target.constant != 1 { return target }
    return try context.same(size, target, "size \(size) does not broadcast to \(target)")
}

/// Repeats axes of size 1 as the result's shape asks for.
private let broadcast: ReferenceKernel = { context throws(KernelError) in
    let (x, result) = (context.tensor("x"), context.results[0])
    let strides = x.strides
    let added = result.rank - x.rank
    guard added >= 0 else { throw KernelError("\(x.shape) does not broadcast to \(result.shape)") }
    var from = [Int](repeating: 0, count: added)
    for axis in x.shape.indices {
        guard x.shape[axis] == 1 || x.shape[axis] == result.shape[added + axis] else {
            throw KernelError("\(x.shape) does not broadcast to \(result.shape)")
        }
        from.append(x.shape[axis] == 1 ? 0 : strides[axis])
    }
    copyElements(
        result.shape, byteStride: x.scalar.byteStride, from: StridedSide(x.base, from), to: StridedSide(result))
}
