import CoreAIGraph
import CoreAIOps
import Testing

extension OwnedTensor {
    /// A tensor of the given numbers, rounded to its type; complex elements take two each.
    init(_ tensor: Example.Tensor) {
        self.init(tensor.scalar, tensor.shape)
        let part = tensor.scalar.complexPart ?? tensor.scalar
        for (index, value) in tensor.values.enumerated() { write(value, part, self.tensor.base + index * part.byteStride) }
    }

    var numbers: [Double] {
        let part = tensor.scalar.complexPart ?? tensor.scalar
        let count = tensor.byteCount / part.byteStride
        return withExtendedLifetime(self) { (0..<count).map { read(part, tensor.base + $0 * part.byteStride) } }
    }
}

private func write(_ value: Double, _ scalar: ScalarType, _ pointer: UnsafeMutableRawPointer) {
    switch scalar {
    case .float16: pointer.storeBytes(of: Float16(value), as: Float16.self)
    case .bfloat16: pointer.storeBytes(of: UInt16(Float(value).bitPattern >> 16), as: UInt16.self)
    case .float32: pointer.storeBytes(of: Float(value), as: Float.self)
    case .float64: pointer.storeBytes(of: value, as: Double.self)
    case _ where scalar.isFloat: fatalError("no examples of \(scalar)")
    default:
        let bits = value < 0 ? UInt64(bitPattern: Int64(value)) : UInt64(value)
        withUnsafeBytes(of: bits.littleEndian) { pointer.copyMemory(from: $0.baseAddress!, byteCount: scalar.byteStride) }
    }
}

private func read(_ scalar: ScalarType, _ pointer: UnsafeMutableRawPointer) -> Double {
    switch scalar {
    case .float16: return Double(pointer.load(as: Float16.self))
    case .bfloat16: return Double(Float(bitPattern: UInt32(pointer.load(as: UInt16.self)) << 16))
    case .float32: return Double(pointer.load(as: Float.self))
    case .float64: return pointer.load(as: Double.self)
    case .uint64: return Double(pointer.load(as: UInt64.self))
    default: return Double(HostTensor(scalar, [1], pointer).integers.first ?? 0)
    }
}

/// Runs one example of an op through its reference kernel.
func run(_ example: Example, of definition: OpDefinition) throws -> [OwnedTensor] {
    let op = Op(definition.name, attributes: example.attributes)
    let operands = example.operands.map { OwnedTensor($0) }
    let declared = example.results.map { ValueType.tensor(TensorType($0.scalar, $0.shape.map { Dimension($0) })) }
    return try withExtendedLifetime(operands) {
        try runReference(op, definition: definition, operands: operands.map(\.tensor), declared: declared)
    }
}

/// Expects every example of a definition to come out as it says.
func checkExamples(of definition: OpDefinition) {
    #expect(definition.examples.count >= 2, "\(definition.name) needs examples")
    for (number, example) in definition.examples.enumerated() {
        do {
            let results = try run(example, of: definition)
            #expect(results.count == example.results.count, "\(definition.name), example \(number)")
            for (result, expected) in zip(results, example.results) {
                #expect(result.tensor.scalar == expected.scalar, "\(definition.name), example \(number)")
                #expect(result.tensor.shape == expected.shape, "\(definition.name), example \(number)")
                let numbers = result.numbers
                let agrees =
                    numbers.count == expected.values.count
                    && zip(numbers, OwnedTensor(expected).numbers).allSatisfy {
                        agree($0, $1, definition.tolerance, expected.scalar)
                    }
                #expect(agrees, "\(definition.name), example \(number): \(numbers), expected \(expected.values)")
            }
        } catch {
            Issue.record("\(definition.name), example \(number): \(error)")
        }
    }
}

private func agree(_ a: Double, _ b: Double, _ tolerance: Tolerance, _ scalar: ScalarType) -> Bool {
    if a == b || (a.isNaN && b.isNaN) { return true }
    let epsilon: Double =
        switch scalar.complexPart ?? scalar {
        case .float16: 0x1p-10
        case .bfloat16: 0x1p-7
        case .float32: 0x1p-23
        case .float64: 0x1p-52
        default: 0
        }
    let factor: Double =
        switch tolerance {
        case .exact: 0
        case .ulps(let count): Double(count)
        case .sumOfMagnitudes(let factor): factor
        }
    return abs(a - b) <= epsilon * factor * max(abs(b), 1)
}
