import CoreAIGraph

private let operands: [Signature.Operand] = [.data("x"), .data("range"), .steering("axis")]

let quantizationStatisticsDefinitions = [
    OpDefinition(
        "symmetric_quantization_statistics_v1",
        summary: "For each index of an axis, twice the largest magnitude over the width of the range.",
        signature: Signature(operands, results: ["scale"]),
        inferTypes: { context throws(GraphError) in
            let (x, shape) = try statisticsShape(&context)
            return [.tensor(TensorType(x.scalar, shape))]
        },
        reference: { context throws(KernelError) in
            let (scale, range) = (context.results[0], try bounds(context))
            let codec = ElementCodec(scale.scalar)
            for (index, extent) in try extents(context).enumerated() {
                let largest = max(extent.low.magnitude, extent.high.magnitude)
                codec.store(2 * largest / (range[1] - range[0]), scale, index)
            }
        },
        tolerance: .ulps(2),
        examples: [
            Example(
                [.init(.float32, [2, 2], [1, -4, 2, 3]), .init(.float32, [2], [-1, 1]), .init(.int32, [], [-1])],
                results: [.init(.float32, [2], [2, 4])]),
            Example(
                [.init(.float32, [2], [0, -0.5]), .init(.float32, [2], [0, 1]), .init(.int32, [], [0])],
                results: [.init(.float32, [2], [0, 1])]),
        ]),
    OpDefinition(
        "asymmetric_quantization_statistics_v1",
        summary: "For each index of an axis, the scale and zero point that map the values (and 0) to the range.",
        signature: Signature(operands, results: ["scale", "zero_point"]),
        inferTypes: { context throws(GraphError) in
            let (x, shape) = try statisticsShape(&context)
            let range = try context.tensor("range").scalar
            return [.tensor(TensorType(x.scalar, shape)), .tensor(TensorType(range, shape))]
        },
        reference: { context throws(KernelError) in
            let (scales, zeroPoints, range) = (context.results[0], context.results[1], try bounds(context))
            let (scaleCodec, pointCodec) = (ElementCodec(scales.scalar), ElementCodec(zeroPoints.scalar))
            for (index, extent) in try extents(context).enumerated() {
                let (low, high) = (min(extent.low, 0), max(extent.high, 0))
                let scale = scaleCodec.rounded((high - low) / (range[1] - range[0]))
                scaleCodec.store(scale, scales, index)
                var steps = scaleCodec.rounded(low / scale)
                if zeroPoints.scalar.isInteger { steps = steps.rounded(.toNearestOrEven) }
                let point = range[0] - steps
                pointCodec.store(point.isNaN ? point : min(max(point, range[0]), range[1]), zeroPoints, index)
            }
        },
        tolerance: .ulps(2),
        examples: [
            Example(
                [.init(.float32, [2, 2], [1, -4, 2, 4]), .init(.float32, [2], [0, 8]), .init(.int32, [], [1])],
                results: [.init(.float32, [2], [0.25, 1]), .init(.float32, [2], [0, 4])]),
            Example(
                [.init(.float32, [1, 2], [-1, 3]), .init(.uint8, [2], [0, 4]), .init(.int32, [], [0])],
                results: [.init(.float32, [1], [1]), .init(.uint8, [1], [1])]),
        ]),
]

private func statisticsShape(_ context: inout InferenceContext) throws(GraphError) -> (TensorType, [Dimension]) {
    let x = try context.tensor("x")
    guard x.scalar.isFloat else { throw context.error("\(x.scalar.name) elements are not quantized") }
    let range = try context.tensor("range")
    _ = try context.same(range.elementCount, 2, "'range' has a lower and an upper bound")
    return (x, [x.shape[try context.axis("axis", rank: x.rank)]])
}

private func bounds(_ context: KernelContext) throws(KernelError) -> [Double] {
    let range = context.tensor("range")
    guard range.count == 2 else { throw KernelError("'range' must have 2 entries, it has \(range.count)") }
    let codec = ElementCodec(range.scalar)
    return [codec.load(range, 0), codec.load(range, 1)]
}

/// The smallest and the largest element for each index of the axis; NaN if one is NaN, 0 if there is none.
private func extents(_ context: KernelContext) throws(KernelError) -> [(low: Double, high: Double)] {
    let x = context.tensor("x")
    let axis = try context.axis("axis", rank: x.rank)
    let (step, size) = (x.strides[axis], x.shape[axis])
    let codec = ElementCodec(x.scalar)
    var extents = [(low: Double, high: Double)?](repeating: nil, count: size)
    for index in 0..<x.count {
        let value = codec.load(x, index)
        let channel = index / step % size
        guard let old = extents[channel] else {
            extents[channel] = (value, value)
            continue
        }
        let isNaN = value.isNaN || old.low.isNaN
        extents[channel] = isNaN ? (.nan, .nan) : (min(old.low, value), max(old.high, value))
    }
    return extents.map { $0 ?? (0, 0) }
}
