import CoreAIGraph

let gatherDefinitions = [
    OpDefinition(
        "primitive.gather_along_axis_v1",
        summary: "Replaces the position along one axis by an index; negative indices count from the end.",
        signature: Signature([.data("x"), .data("indices"), .steering("axis")]),
        inferTypes: { context throws(GraphError) in
            let (x, indices) = (try context.tensor("x"), try context.tensor("indices"))
            let axis = try context.axis("axis", rank: x.rank)
            try expectIndices(indices, context)
            guard indices.rank == x.rank else { throw context.error("\(indices) must have the rank of \(x)") }
            var shape = indices.shape
            for other in x.shape.indices where other != axis {
                shape[other] = try context.same(
                    x.shape[other], shape[other], "\(indices) and \(x) differ at axis \(other), which is not indexed")
            }
            if x.rank == 1, let values = context.values(of: "x"), let picks = context.values(of: "indices") {
                context.resultValues = [try picked(values, picks, context)]
            }
            return [.tensor(TensorType(x.scalar, shape))]
        },
        reference: { context throws(KernelError) in
            let (x, result) = (context.tensor("x"), context.results[0])
            let walk = try AxisWalk(context, x, result.shape)
            switch x.scalar.byteStride {
            case 1: try walk.gather(UInt8.self, x, result)
            case 2: try walk.gather(UInt16.self, x, result)
            case 4: try walk.gather(UInt32.self, x, result)
            case 8: try walk.gather(UInt64.self, x, result)
            default: try walk.gather(SixteenBytes.self, x, result)
            }
        },
        examples: [
            Example(
                [
                    .init(.float32, [2, 2], [1, 2, 3, 4]), .init(.int32, [2, 3], [0, -1, 1, 1, 0, -2]),
                    .init(.int32, [], [-1]),
                ],
                results: [.init(.float32, [2, 3], [1, 2, 2, 4, 3, 3])]),
            Example(
                [.init(.int8, [3, 2], [1, 2, 3, 4, 5, 6]), .init(.int32, [1, 2], [2, 0]), .init(.int32, [], [0])],
                results: [.init(.int8, [1, 2], [5, 2])]),
            Example(
                [.init(.int8, [0], []), .init(.int32, [0], []), .init(.int32, [], [0])],
                results: [.init(.int8, [0], [])]),
        ]),
    OpDefinition(
        "primitive.gather_nd_v1",
        summary: "The slices at the index vectors that lie along the last axis of `indices`.",
        signature: Signature([.data("x"), .data("indices")]),
        inferTypes: { context throws(GraphError) in
            let (x, indices) = (try context.tensor("x"), try context.tensor("indices"))
            let depth = try indexDepth(x, indices, context)
            if x.rank == 1, depth == 1, let values = context.values(of: "x"), let picks = context.values(of: "indices")
            {
                context.resultValues = [try picked(values, picks, context)]
            }
            return [.tensor(TensorType(x.scalar, indices.shape.dropLast() + x.shape.dropFirst(depth)))]
        },
        reference: { context throws(KernelError) in
            let (x, result) = (context.tensor("x"), context.results[0])
            let slices = try SliceOffsets(x, context.tensor("indices"))
            guard slices.offsets.count * slices.byteCount == result.byteCount else {
                throw KernelError("\(slices.offsets.count) slices do not fill \(result.shape)")
            }
            for (index, offset) in slices.offsets.enumerated() {
                (result.base + index * slices.byteCount).copyMemory(from: x.base + offset, byteCount: slices.byteCount)
            }
        },
        examples: [
            Example(
                [.init(.float32, [3, 2], [1, 2, 3, 4, 5, 6]), .init(.int32, [2, 1], [-1, 0])],
                results: [.init(.float32, [2, 2], [5, 6, 1, 2])]),
            Example(
                [.init(.float32, [2, 2], [1, 2, 3, 4]), .init(.int32, [2], [1, -2])],
                results: [.init(.float32, [], [3])]),
            Example(
                [.init(.int16, [2], [1, 2]), .init(.int32, [3, 0], [])],
                results: [.init(.int16, [3, 2], [1, 2, 1, 2, 1, 2])]),
            Example([.init(.int16, [2], [1, 2]), .init(.int32, [0, 1], [])], results: [.init(.int16, [0], [])]),
        ]),
]

func expectIndices(_ type: TensorType, _ context: InferenceContext) throws(GraphError) {
    guard type.scalar.isInteger, type.scalar.bitWidth <= 64 else {
        throw context.error("indices must be integers, they are \(type)")
    }
}

/// The length of the index vectors of gather_nd and scatter_nd.
func indexDepth(_ x: TensorType, _ indices: TensorType, _ context: InferenceContext) throws(GraphError) -> Int {
    try expectIndices(indices, context)
    guard let last = indices.shape.last, let depth = last.constant else {
        throw context.error("the last size of the indices \(indices) must be known")
    }
    guard depth >= 0, depth <= x.rank else { throw context.error("index vectors of length \(depth) for \(x)") }
    return depth
}

private func picked(
    _ values: [Dimension], _ picks: [Dimension], _ context: InferenceContext
) throws(GraphError) -> [Dimension]? {
    var result: [Dimension] = []
    for pick in picks {
        guard let index = pick.constant else { return nil }
        let position = index < 0 ? index + values.count : index
        guard values.indices.contains(position) else {
            throw context.error("index \(index) is out of range for \(values.count) elements")
        }
        result.append(values[position])
    }
    return result
}

/// The byte offsets in a tensor of the slices that index vectors name.
struct SliceOffsets {
    let offsets: [Int]
    let byteCount: Int

    init(_ x: HostTensor, _ indices: HostTensor) throws(KernelError) {
        guard let depth = indices.shape.last, depth <= x.rank else {
            throw KernelError("indices of shape \(indices.shape) do not name slices of \(x.shape)")
        }
        let byteStride = x.scalar.byteStride
        let strides = x.strides
        let numbers = indices.integers
        var offsets: [Int] = []
        for vector in 0..<indices.shape.dropLast().reduce(1, *) {
            var offset = 0
            for axis in 0..<depth {
                let index = numbers[vector * depth + axis]
                offset += try checkedIndex(index, size: x.shape[axis], axis: axis) * strides[axis]
            }
            offsets.append(offset * byteStride)
        }
        self.offsets = offsets
        byteCount = x.shape.dropFirst(depth).reduce(1, *) * byteStride
    }
}

/// A walk over index positions: the offset in `x` of the line each position lies on, and the step along it.
struct AxisWalk {
    let axis: Int
    let size: Int
    let step: Int
    let shape: [Int]
    /// The strides of `x`, with none along the axis.
    let lineStrides: [Int]
    let indices: [Int]

    /// Uses the operands `indices` and `axis` of the op.
    init(_ context: KernelContext, _ x: HostTensor, _ shape: [Int]) throws(KernelError) {
        let indices = context.tensor("indices")
        axis = try context.axis("axis", rank: x.rank)
        guard indices.shape == shape, shape.count == x.rank else {
            throw KernelError("indices of shape \(indices.shape) do not go with \(shape)")
        }
        for other in shape.indices where other != axis && shape[other] != x.shape[other] {
            throw KernelError("indices of shape \(shape) and \(x.shape) differ at axis \(other), which is not indexed")
        }
        size = x.shape[axis]
        var strides = x.strides
        step = strides[axis]
        strides[axis] = 0
        lineStrides = strides
        self.shape = shape
        self.indices = indices.integers
    }

    /// Calls `body` with the offset of the element each index names, and the position of the index.
    @inline(__always)
    func forEach(_ body: (Int, Int) -> Void) throws(KernelError) {
        try forEachOffset(shape, lineStrides, denseStrides(shape)) { line, position throws(KernelError) in
            body(line + (try checkedIndex(indices[position], size: size, axis: axis)) * step, position)
        }
    }

    func gather<T: BitwiseCopyable>(_: T.Type, _ x: HostTensor, _ result: HostTensor) throws(KernelError) {
        let (source, target) = (x.pointer(as: T.self), result.pointer(as: T.self))
        try forEach { target[$1] = source[$0] }
    }
}
