import CoreAIGraph

let blockwiseShiftScaleDefinitions = [
    OpDefinition(
        "primitive.blockwise_shift_scale_v1",
        summary: "scale * (data - offset), both for a block of the data; the result has the type of the scale.",
        signature: Signature([.data("data"), .data("scale"), .data("offset")]), form: .weight,
        inferTypes: { (context) throws(GraphError) in try inferred(&context, offset: "offset", type: "scale") },
        reference: { (context) throws(KernelError) in try decode(context, offset1: "offset", offset2: nil) },
        tolerance: .ulps(1),
        examples: [
            Example(
                [
                    .init(.int4, [2, 4], [-8, 7, 1, 2, 0, 1, 2, 3]), .init(.float32, [2, 2], [0.5, 1, 2, 4]),
                    .init(.int4, [2, 2], [1, 0, -1, 3]),
                ],
                results: [.init(.float32, [2, 4], [-4.5, 3, 1, 2, 2, 4, -4, 0])])
        ]),
    OpDefinition(
        "primitive.blockwise_shift_scale_v2",
        summary:
            "scale * (data - offset1) + offset2, each for a block of the data; the result has the type of offset2.",
        signature: Signature([.data("data"), .data("scale"), .data("offset1"), .data("offset2")]), form: .weight,
        inferTypes: { (context) throws(GraphError) in try inferred(&context, offset: "offset1", type: "offset2") },
        reference: { (context) throws(KernelError) in try decode(context, offset1: "offset1", offset2: "offset2") },
        tolerance: .ulps(1),
        examples: [
            // The difference is taken without overflow: 127 - (-128) is 255.
            Example(
                [
                    .init(.int8, [1, 2], [127, -128]), .init(.float32, [1, 1], [2]), .init(.int8, [1, 1], [-128]),
                    .init(.float32, [1, 1], [1]),
                ],
                results: [.init(.float32, [1, 2], [511, 1])]),
            Example(
                [
                    .init(.uint8, [4], [0, 1, 2, 255]), .init(.float16, [2], [1, 0.5]), .init(.uint8, [2], [1, 5]),
                    .init(.float16, [2], [0, 0.25]),
                ],
                results: [.init(.float16, [4], [-1, 0, -1.25, 125.25])]),
        ]),
]

private func inferred(_ context: inout InferenceContext, offset: String, type: String) throws(GraphError) -> [ValueType]
{
    let data = try context.tensor("data")
    for name in ["scale", offset, type] {
        let other = try context.tensor(name)
        // One number for all of the data may come as a scalar.
        guard other.rank > 0 else { continue }
        guard other.rank == data.rank else {
            throw context.error("'\(name)' \(other) must have the rank of the data \(data)")
        }
        for (axis, (whole, blocks)) in zip(data.shape, other.shape).enumerated() {
            guard let x = whole.constant, let y = blocks.constant else { continue }
            guard y > 0 ? x % y == 0 : x == 0 else {
                throw context.error("'\(name)' \(other) does not divide the data \(data) at axis \(axis)")
            }
        }
    }

    let offsetType = try context.tensor(offset)
    guard offsetType.scalar == data.scalar else {
        throw context.error("'\(offset)' is \(offsetType.scalar.name), the data \(data.scalar.name)")
    }
    let result = try context.tensor(type).scalar
    guard result.isFloat else { throw context.error("'\(type)' is \(result.name), a floating-point type is expected") }
    return [.tensor(TensorType(result, data.shape))]
}

private func decode(_ context: KernelContext, offset1: String, offset2: String?) throws(KernelError) {
    let (data, result) = (context.tensor("data"), context.results[0])
    guard result.count > 0 else { return }
    let scale = BlockFactor(context.tensor("scale"), of: data.shape)
    let shift = BlockFactor(context.tensor(offset1), of: data.shape)
    let bias = offset2.map { BlockFactor(context.tensor($0), of: data.shape) }
    let inner = data.shape.last ?? 1
    // The longest run along the last axis in which no factor changes.
    let run = min(scale.run, shift.run, bias?.run ?? inner)
    let values = DataReader(data)
    var position = [Int](repeating: 0, count: max(0, data.rank - 1))
    var line = [Float](repeating: 0, count: inner)
    for row in 0..<result.count / max(1, inner) {
        let (s, o, b) = (scale.offset(position), shift.offset(position), bias?.offset(position) ?? 0)
        var column = 0
        while column < inner {
            let count = min(run, inner - column)
            let factor = scale.value(s, column)
            let zero = shift.value(o, column)
            let added = bias?.value(b, column) ?? 0
            line.withUnsafeMutableBufferPointer { line in
                values.read(row * inner + column, count, into: line, at: column)
                for index in column..<column + count { line[index] = factor * (line[index] - zero) + added }
            }
            column += count
        }
        storeRow(line, result, row * inner)
        var axis = position.count - 1
        while axis >= 0 {
            position[axis] += 1
            if position[axis] < data.shape[axis] { break }
            position[axis] = 0
            axis -= 1
        }
    }
}

/// A factor with one element for each block of a larger shape.
private struct BlockFactor {
    private let values: [Float]
    private let strides: [Int]
    private let blocks: [Int]

    init(_ tensor: HostTensor, of shape: [Int]) {
        let codec = ElementCodec(tensor.scalar)
        values = (0..<tensor.count).map { Float(codec.load(tensor, $0)) }
        let sizes = tensor.rank == 0 ? [Int](repeating: 1, count: shape.count) : tensor.shape
        strides = tensor.rank == 0 ? [Int](repeating: 0, count: shape.count) : tensor.strides
        blocks = zip(shape, sizes).map { $1 > 0 ? max(1, $0 / $1) : 1 }
    }

    /// The elements of the last axis that share a value.
    var run: Int { blocks.last ?? 1 }

    /// - Parameter position: on all axes but the last.
    func offset(_ position: [Int]) -> Int {
        position.indices.reduce(0) { $0 + position[$1] / blocks[$1] * strides[$1] }
    }

    func value(_ offset: Int, _ column: Int) -> Float { values[offset + column / run * (strides.last ?? 0)] }
}

/// Reads runs of any real type as `Float`.
private struct DataReader {
    private let tensor: HostTensor
    private let codec: ElementCodec

    init(_ tensor: HostTensor) {
        self.tensor = tensor
        codec = ElementCodec(tensor.scalar)
    }

    func read(_ start: Int, _ count: Int, into line: UnsafeMutableBufferPointer<Float>, at place: Int) {
        let isByte = tensor.scalar.byteStride == 1 && !tensor.scalar.isFloat
        if isByte, tensor.scalar.isSignedInteger {
            let source = tensor.pointer(as: Int8.self) + start
            for index in 0..<count { line[place + index] = Float(source[index]) }
        } else if isByte {
            let source = tensor.pointer(as: UInt8.self) + start
            for index in 0..<count { line[place + index] = Float(source[index]) }
        } else {
            for index in 0..<count { line[place + index] = Float(codec.load(tensor, start + index)) }
        }
    }
}

private func storeRow(_ line: [Float], _ result: HostTensor, _ start: Int) {
    switch result.scalar {
    case .float32:
        line.withUnsafeBufferPointer {
            if let base = $0.baseAddress {
                (result.pointer(as: Float.self) + start).update(from: base, count: line.count)
            }
        }
    case .float16:
        let target = result.pointer(as: Float16.self) + start
        for (index, value) in line.enumerated() { target[index] = Float16(value) }
    case .bfloat16:
        let target = result.pointer(as: UInt16.self) + start
        for (index, value) in line.enumerated() { target[index] = bfloat16Bits(value) }
    default:
        let codec = ElementCodec(result.scalar)
        for (index, value) in line.enumerated() { codec.store(Double(value), result, start + index) }
    }
}
