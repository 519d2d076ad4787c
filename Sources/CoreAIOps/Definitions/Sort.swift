import CoreAIGraph

private let operands: [Signature.Operand] =
    [.data("x"), .steering("dim"), .steering("descending"), .steering("stable")]

/// Sorting is stable whatever the flag asks for.
let sortDefinitions = [
    OpDefinition(
        "primitive.argsort_v1",
        summary:
            "The positions of the elements along an axis in sorted order; equal ones keep their order, NaN comes last.",
        signature: Signature(operands),
        inferTypes: { context throws(GraphError) in
            let x = try context.tensor("x")
            _ = try sortedAxis(x, context)
            return [.tensor(TensorType(context.declaredInteger(else: .int32), x.shape))]
        },
        reference: { context throws(KernelError) in
            let result = context.results[0]
            try forEachSorted(context) { _, target, source in result.storeWrapped(source, at: target) }
        },
        examples: [
            Example(
                [
                    .init(.float32, [6], [2, .nan, -0.0, 0, 2, -.infinity]), .init(.int32, [], [-1]),
                    .init(.bool, [], [0]), .init(.bool, [], [1]),
                ],
                results: [.init(.int32, [6], [5, 2, 3, 0, 4, 1])]),
            Example(
                [
                    .init(.float32, [5], [2, .nan, -0.0, 0, 2]), .init(.int32, [], [0]), .init(.bool, [], [1]),
                    .init(.bool, [], [0]),
                ],
                results: [.init(.int32, [5], [0, 4, 2, 3, 1])]),
            Example(
                [
                    .init(.int8, [2, 2], [-128, 3, 127, 3]), .init(.int32, [], [0]), .init(.bool, [], [1]),
                    .init(.bool, [], [0]),
                ],
                results: [.init(.int32, [2, 2], [1, 0, 0, 1])]),
            Example(
                [.init(.int8, [0, 2], []), .init(.int32, [], [0]), .init(.bool, [], [1]), .init(.bool, [], [0])],
                results: [.init(.int32, [0, 2], [])]),
        ]),
    OpDefinition(
        "sort_v1",
        summary: "The elements along an axis in sorted order, NaN last.",
        signature: Signature(operands),
        inferTypes: { context throws(GraphError) in
            let x = try context.tensor("x")
            _ = try sortedAxis(x, context)
            return [.tensor(TensorType(x.scalar, x.shape))]
        },
        reference: { context throws(KernelError) in
            let (x, result) = (context.tensor("x"), context.results[0])
            let byteStride = x.scalar.byteStride
            try forEachSorted(context) { line, target, source in
                (result.base + target * byteStride).copyMemory(
                    from: x.base + line(source) * byteStride, byteCount: byteStride)
            }
        },
        examples: [
            Example(
                [
                    .init(.float32, [2, 2], [.nan, 1, 2, -1]), .init(.int32, [], [1]), .init(.bool, [], [1]),
                    .init(.bool, [], [1]),
                ],
                results: [.init(.float32, [2, 2], [1, .nan, 2, -1])]),
            Example(
                [
                    .init(.uint64, [3], [9, 0, 4]), .init(.int32, [], [0]), .init(.bool, [], [0]),
                    .init(.bool, [], [1]),
                ],
                results: [.init(.uint64, [3], [0, 4, 9])]),
            Example(
                [.init(.float16, [0], []), .init(.int32, [], [0]), .init(.bool, [], [0]), .init(.bool, [], [1])],
                results: [.init(.float16, [0], [])]),
        ]),
]

private func sortedAxis(_ x: TensorType, _ context: InferenceContext) throws(GraphError) -> Int {
    guard x.scalar == .bool || x.scalar.isFloat || (x.scalar.isInteger && x.scalar.bitWidth <= 64) else {
        throw context.error("\(x.scalar.name) has no order")
    }
    return try context.axis("dim", rank: x.rank)
}

/// Sorts each line along the axis and calls `body` with the element offsets of the line, the offset of a result element,
/// and the position in the line of the element that belongs there.
private func forEachSorted(
    _ context: KernelContext, _ body: ((Int) -> Int, Int, Int) -> Void
) throws(KernelError) {
    let x = context.tensor("x")
    let axis = try context.axis("dim", rank: x.rank)
    let descending = try context.integer("descending") != 0
    let (count, step) = (x.shape[axis], x.strides[axis])
    let key = sortKey(x, descending: descending)
    var outer = x.shape
    outer.remove(at: axis)
    var strides = x.strides
    strides.remove(at: axis)
    forEachOffset(outer, strides, strides) { start, _ in
        let keys = (0..<count).map { key(start + $0 * step) }
        let order = keys.indices.sorted { (keys[$0], $0) < (keys[$1], $1) }
        for (position, source) in order.enumerated() { body({ start + $0 * step }, start + position * step, source) }
    }
}

/// Maps elements to numbers that sort as the elements do.
private func sortKey(_ x: HostTensor, descending: Bool) -> (Int) -> UInt64 {
    let top = UInt64(1) << 63
    if x.scalar.isFloat {
        let codec = ElementCodec(x.scalar)
        return { index in
            let value = codec.load(x, index)
            if value.isNaN { return .max }
            let bits = (value == 0 ? 0 : value).bitPattern
            let ascending = bits & top == 0 ? bits | top : ~bits
            return descending ? ~ascending : ascending
        }
    }
    return { index in
        let bits = UInt64(bitPattern: Int64(x.integer(at: index)))
        let ascending = x.scalar == .uint64 ? bits : bits ^ top
        return descending ? ~ascending : ascending
    }
}
