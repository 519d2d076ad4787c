import CoreAIGraph

private let bounds: [Signature.Operand] = [.steering("start"), .steering("end"), .steering("stride")]

let sliceDefinitions = [
    OpDefinition(
        "primitive.slice_v1",
        summary: "The elements start, start + stride, ... before end along each axis.",
        signature: Signature([.data("x")] + bounds),
        inferTypes: { context throws(GraphError) in
            let x = try context.tensor("x")
            var shape: [Dimension] = []
            for (axis, size) in try slicedShape(x, context).enumerated() {
                shape.append(size ?? context.dataDependentSize(axis: axis, rank: x.rank))
            }
            if let values = context.values(of: "x"), x.rank <= 1 {
                context.resultValues = [try pick(values, x, context)]
            }
            return [.tensor(TensorType(x.scalar, shape))]
        },
        reference: { context throws(KernelError) in
            let (x, result) = (context.tensor("x"), context.results[0])
            let slice = try SliceBox(context, x)
            guard slice.shape == result.shape else {
                throw KernelError("the slice has shape \(slice.shape), expected \(result.shape)")
            }
            copyElements(result.shape, byteStride: x.scalar.byteStride, from: slice.side, to: StridedSide(result))
        },
        examples: [
            Example(
                [
                    .init(.float32, [5], [0, 1, 2, 3, 4]), .init(.int32, [1], [-3]), .init(.int32, [1], [99]),
                    .init(.int32, [1], [2]),
                ],
                results: [.init(.float32, [2], [2, 4])]),
            // Backwards, -1 as the end means through element 0.
            Example(
                [
                    .init(.int8, [4], [0, 1, 2, 3]), .init(.int32, [1], [-1]), .init(.int32, [1], [-1]),
                    .init(.int32, [1], [-1]),
                ],
                results: [.init(.int8, [4], [3, 2, 1, 0])]),
            Example(
                [
                    .init(.int8, [4], [0, 1, 2, 3]), .init(.int32, [1], [9]), .init(.int32, [1], [-3]),
                    .init(.int32, [1], [-1]),
                ],
                results: [.init(.int8, [2], [3, 2])]),
            Example(
                [
                    .init(.int32, [2, 2], [1, 2, 3, 4]), .init(.int32, [2], [2, 0]), .init(.int32, [2], [1, -1]),
                    .init(.int32, [2], [1, 1]),
                ],
                results: [.init(.int32, [0, 1], [])]),
            Example(
                [.init(.float32, [], [3]), .init(.int32, [0], []), .init(.int32, [0], []), .init(.int32, [0], [])],
                results: [.init(.float32, [], [3])]),
        ]),
    OpDefinition(
        "primitive.slice_update_v1",
        summary: "A copy of the first operand in which a slice is replaced.",
        signature: Signature([.data("x")] + bounds + [.data("update")]),
        inferTypes: { context throws(GraphError) in
            let (x, update) = (try context.tensor("x"), try context.tensor("update"))
            try context.expectSameScalar("x", "update")
            guard update.rank == x.rank else { throw context.error("\(update) does not replace a slice of \(x)") }
            for (axis, size) in try slicedShape(x, context).enumerated() {
                guard let size else { continue }
                _ = try context.same(
                    size, update.shape[axis], "axis \(axis) of the update \(update) and of the slice of \(x)")
            }
            return [.tensor(TensorType(x.scalar, x.shape))]
        },
        reference: { context throws(KernelError) in
            let (x, update, result) = (context.tensor("x"), context.tensor("update"), context.results[0])
            try copyAll(x, to: result)
            let slice = try SliceBox(context, result)
            guard slice.shape == update.shape else {
                throw KernelError("the update has shape \(update.shape), the slice it replaces \(slice.shape)")
            }
            copyElements(slice.shape, byteStride: x.scalar.byteStride, from: StridedSide(update), to: slice.side)
        },
        examples: [
            Example(
                [
                    .init(.float32, [4], [0, 1, 2, 3]), .init(.int32, [1], [-1]), .init(.int32, [1], [-1]),
                    .init(.int32, [1], [-2]),
                    .init(.float32, [2], [8, 9]),
                ],
                results: [.init(.float32, [4], [0, 9, 2, 8])]),
            Example(
                [
                    .init(.int8, [2, 2], [1, 2, 3, 4]), .init(.int32, [2], [0, 1]), .init(.int32, [2], [2, 2]),
                    .init(.int32, [2], [1, 1]),
                    .init(.int8, [2, 1], [7, 8]),
                ],
                results: [.init(.int8, [2, 2], [1, 7, 3, 8])]),
            Example(
                [
                    .init(.int8, [1], [1]), .init(.int32, [1], [1]), .init(.int32, [1], [0]), .init(.int32, [1], [1]),
                    .init(.int8, [0], []),
                ],
                results: [.init(.int8, [1], [1])]),
        ]),
]

// MARK: Sizes

/// The size of each axis of the slice, nil where it depends on data.
private func slicedShape(_ x: TensorType, _ context: InferenceContext) throws(GraphError) -> [Dimension?] {
    for name in ["start", "end", "stride"] {
        if let count = context.steeringCount(name), count != x.rank {
            throw context.error("'\(name)' has \(count) entries for rank \(x.rank)")
        }
    }
    let (start, end) = (context.steering("start"), context.steering("end"))
    let strides = context.steering("stride")
    if strides?.contains(0) ?? false { throw context.error("a stride is 0") }
    return x.shape.indices.map { axis in
        guard let start, let end, let stride = strides?[axis].constant else { return nil }
        let size = sliceSize(x.shape[axis], start: start[axis], end: end[axis], stride: stride)
        return size.flatMap { $0.isUnknown ? nil : $0 }
    }
}

/// Bounds from here on mean "to the end": no axis is that long, and converters write various large numbers.
private let endless = 1_000_000_000

func sliceSize(_ size: Dimension, start: Dimension, end: Dimension, stride: Int) -> Dimension? {
    if let size = size.constant, let start = start.constant, let end = end.constant {
        return Dimension(SliceRange(size: size, start: start, end: end, stride: stride).count)
    }
    let span = stride > 0 ? forwardSpan(size, start, end) : backwardSpan(size, start, end)
    guard let span, stride != .min else { return nil }
    return Dimension.maximum(span, 0).ceilDivided(by: Dimension(abs(stride)))
}

/// How many elements lie between the bounds; possibly negative.
///
/// Clamps that cannot change the outcome are left out, so that equal slices give equal expressions.
private func forwardSpan(_ size: Dimension, _ start: Dimension, _ end: Dimension) -> Dimension? {
    guard !start.isUnknown, !end.isUnknown else { return nil }
    // An end beyond the axis is clamped; a start beyond it leaves a negative span anyway.
    func clampedEnd(_ end: Dimension) -> Dimension {
        if let number = end.constant, number >= endless { return size }
        return .minimum(end, size)
    }
    let last = countedFromEnd(end) ? size + end : (seemsNonnegative(end) ? clampedEnd(end) : wrapped(end, size))
    if seemsNonnegative(start) { return last - start }
    if countedFromEnd(start) {
        if last == size { return .minimum(size, Dimension(0) - start) }
        return last - .maximum(size + start, 0)
    }
    return last - wrapped(start, size)
}

private func backwardSpan(_ size: Dimension, _ start: Dimension, _ end: Dimension) -> Dimension? {
    guard !start.isUnknown, !end.isUnknown else { return nil }
    let first: Dimension
    if start.constant == -1 || (start.constant ?? 0) >= endless {
        first = size - 1
    } else if countedFromEnd(start) {
        first = .minimum(.maximum(size + start, 0), size - 1)
    } else if seemsNonnegative(start) {
        first = .minimum(start, size - 1)
    } else {
        return nil
    }
    if let number = end.constant, number == -1 || number <= -endless { return first + 1 }
    if countedFromEnd(end) { return first - .maximum(size + end, -1) }
    return seemsNonnegative(end) ? first - .minimum(end, size - 1) : nil
}

private func countedFromEnd(_ bound: Dimension) -> Bool { (bound.constant ?? 0) < 0 }

/// True also for expressions such as `s0 - 1`: that they do not become negative is checked when the op runs, by comparing
/// the sizes it finds with those expected.
private func seemsNonnegative(_ bound: Dimension) -> Bool {
    if let number = bound.constant { return number >= 0 }
    let atZero = bound.substituting { _ in 0 }.constant ?? 0
    return (bound - Dimension(min(atZero, 0))).isCertainlyNonnegative
}

/// A bound of unknown sign, counted from the start and clamped: the quotient is -1 for negative numbers and 0 otherwise.
private func wrapped(_ bound: Dimension, _ size: Dimension) -> Dimension {
    let position = bound - size * bound.floorDivided(by: Dimension(1 << 62))
    return .minimum(.maximum(position, 0), size)
}

private func pick(
    _ values: [Dimension], _ x: TensorType, _ context: InferenceContext
) throws(GraphError) -> [Dimension]? {
    guard x.rank == 1 else { return values }
    guard let size = x.shape[0].constant, size == values.count, let start = context.steering("start")?[0].constant,
        let end = context.steering("end")?[0].constant, let stride = context.steering("stride")?[0].constant
    else { return nil }
    let range = SliceRange(size: size, start: start, end: end, stride: stride)
    return (0..<range.count).map { values[range.first + $0 * stride] }
}

// MARK: Positions

/// The positions that a slice takes along one axis.
package struct SliceRange {
    package let first: Int
    package let count: Int

    /// - Parameter stride: not 0.
    package init(size: Int, start: Int, end: Int, stride: Int) {
        if stride > 0 {
            let first = min(max(start < 0 ? start + size : start, 0), size)
            let last = min(max(end < 0 ? end + size : end, 0), size)
            self.first = first
            count = last > first ? (last - first - 1) / stride + 1 : 0
        } else {
            let first = min(max(start < 0 ? start + size : start, 0), size - 1)
            let last = min(max(end < -1 ? end + size : end, -1), size - 1)
            self.first = max(first, 0)
            count = first > last ? (first - last - 1) / Int(clamping: stride.magnitude) + 1 : 0
        }
    }
}

/// The part of a dense tensor that a slice covers.
private struct SliceBox {
    var shape: [Int] = []
    var side: StridedSide

    init(_ context: KernelContext, _ x: HostTensor) throws(KernelError) {
        let (start, end) = (try context.integers("start"), try context.integers("end"))
        let strides = try context.integers("stride")
        guard start.count == x.rank, end.count == x.rank, strides.count == x.rank else {
            throw KernelError("start, end and stride must have \(x.rank) entries each")
        }
        side = StridedSide(x)
        var offset = 0
        for axis in 0..<x.rank {
            guard strides[axis] != 0 else { throw KernelError("the stride of axis \(axis) is 0") }
            let range = SliceRange(size: x.shape[axis], start: start[axis], end: end[axis], stride: strides[axis])
            shape.append(range.count)
            offset += side.strides[axis] * range.first
            // With one element or none the stride is never taken, and may be too large to multiply.
            side.strides[axis] = range.count > 1 ? side.strides[axis] * strides[axis] : side.strides[axis]
        }
        if !shape.contains(0) { side = side.advanced(by: offset, byteStride: x.scalar.byteStride) }
    }
}
