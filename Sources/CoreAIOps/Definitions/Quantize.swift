import CoreAIGraph

private let parameters: [Signature.Operand] =
    [.data("scale"), .data("offset1"), .data("offset2"), .steering("axis")]

let quantizeDefinitions = [
    OpDefinition(
        "quantize_v2", aliases: ["quantize_v1"],
        summary:
            "round((x - offset2) / scale) + offset1, saturated, in the type of offset1; ties round to even, NaN gives 0.",
        signature: Signature([.data("x")] + parameters),
        inferTypes: { context throws(GraphError) in try quantizedType(&context, "x", scalarOf: "offset1") },
        reference: { context throws(KernelError) in
            let (x, result) = (context.tensor("x"), context.results[0])
            let channels = try Channels(context, x)
            let (from, to) = (ElementCodec(x.scalar), ElementCodec(result.scalar))
            let scales = channels.values("scale")
            let (targetOffsets, sourceOffsets) = (channels.values("offset1"), channels.values("offset2"))
            for index in 0..<x.count {
                let channel = channels.channel(of: index)
                var value = from.rounded(from.load(x, index) - sourceOffsets(channel))
                value = from.rounded(value / scales(channel))
                if result.scalar.isInteger {
                    value = value.isNaN ? 0 : value.rounded(.toNearestOrEven) + targetOffsets(channel)
                } else {
                    value = value.isNaN ? 0 : value + targetOffsets(channel)
                }
                to.store(value, result, index)
            }
        },
        examples: [
            Example(
                [
                    .init(.float32, [6], [0.5, 1.5, -0.5, .nan, 1000, -.infinity]), .init(.float32, [], [1]),
                    .init(.int8, [], [3]),
                    .init(.float32, [], [0]), .init(.int32, [1], [0]),
                ],
                results: [.init(.int8, [6], [3, 5, 3, 0, 127, -128])]),
            Example(
                [
                    .init(.float32, [2, 2], [1, 2, 3, 4]), .init(.float32, [2], [1, 0.5]), .init(.uint8, [2], [0, 10]),
                    .init(.float32, [2], [1, 0]), .init(.int32, [], [-1]),
                ],
                results: [.init(.uint8, [2, 2], [0, 14, 2, 18])]),
            Example(
                [
                    .init(.float32, [0], []), .init(.float32, [], [1]), .init(.int8, [], [0]), .init(.float32, [], [0]),
                    .init(.int32, [], [0]),
                ],
                results: [.init(.int8, [0], [])]),
        ]),
    OpDefinition(
        "dequantize_v2", aliases: ["dequantize_v1"],
        summary: "(q - offset1) * scale + offset2 in the type of offset2.",
        signature: Signature([.data("q")] + parameters),
        inferTypes: { context throws(GraphError) in try quantizedType(&context, "q", scalarOf: "offset2") },
        reference: { context throws(KernelError) in
            let (q, result) = (context.tensor("q"), context.results[0])
            let channels = try Channels(context, q)
            let (from, to) = (ElementCodec(q.scalar), ElementCodec(result.scalar))
            let scales = channels.values("scale")
            let (targetOffsets, sourceOffsets) = (channels.values("offset2"), channels.values("offset1"))
            for index in 0..<q.count {
                let channel = channels.channel(of: index)
                let difference = to.rounded(from.load(q, index) - sourceOffsets(channel))
                let product = to.rounded(difference * scales(channel))
                to.store(product + targetOffsets(channel), result, index)
            }
        },
        tolerance: .ulps(2),
        examples: [
            Example(
                [
                    .init(.int8, [2], [127, -128]), .init(.float32, [], [0.5]), .init(.int8, [], [-128]),
                    .init(.float32, [], [1]),
                    .init(.int32, [1], [0]),
                ],
                results: [.init(.float32, [2], [128.5, 1])]),
            Example(
                [
                    .init(.uint8, [2, 2], [1, 2, 3, 4]), .init(.float32, [2], [1, 2]), .init(.uint8, [2], [0, 4]),
                    .init(.float32, [2], [0, 1]), .init(.int32, [], [-2]),
                ],
                results: [.init(.float32, [2, 2], [1, 2, -1, 1])]),
        ]),
]

private func quantizedType(
    _ context: inout InferenceContext, _ name: String, scalarOf result: String
) throws(GraphError) -> [ValueType] {
    let x = try context.tensor(name)
    let axes = try context.axes("axis", rank: x.rank)
    for parameter in ["scale", "offset1", "offset2"] {
        let type = try context.tensor(parameter)
        guard type.rank <= 1 else { throw context.error("'\(parameter)' must be a number or a vector, it is \(type)") }
        guard type.rank == 1, type.shape[0].constant != 1 else { continue }
        guard axes.count == 1 else {
            throw context.error("'\(parameter)' is a vector, but there are \(axes.count) axes")
        }
        _ = try context.same(
            type.shape[0], x.shape[axes[0]], "'\(parameter)' has one entry for each index of axis \(axes[0])")
    }
    return [.tensor(TensorType(try context.tensor(result).scalar, x.shape))]
}

/// The quantization parameters of each element.
private struct Channels {
    private let context: KernelContext
    private let step: Int
    private let count: Int

    init(_ context: KernelContext, _ x: HostTensor) throws(KernelError) {
        self.context = context
        let axes = try context.axes("axis", rank: x.rank)
        let axis = axes.count == 1 ? axes[0] : nil
        step = axis.map { x.strides[$0] } ?? 1
        count = axis.map { x.shape[$0] } ?? 1
        for name in ["scale", "offset1", "offset2"] {
            let entries = context.tensor(name).count
            guard entries == 1 || entries == count else {
                throw KernelError("'\(name)' has \(entries) entries, expected 1 or \(count)")
            }
        }
    }

    func channel(of index: Int) -> Int { index / step % count }

    /// A parameter by channel.
    func values(_ name: String) -> (Int) -> Double {
        let tensor = context.tensor(name)
        let codec = ElementCodec(tensor.scalar)
        let values = (0..<tensor.count).map { codec.load(tensor, $0) }
        return { values[values.count == 1 ? 0 : $0] }
    }
}
