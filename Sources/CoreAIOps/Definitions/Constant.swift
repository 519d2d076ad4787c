import CoreAIGraph

let constantDefinitions = [
    OpDefinition(
        "primitive.constant_v1",
        summary: "The tensor stored in the attribute `value`.",
        signature: Signature([], attributes: ["value"]),
        inferTypes: { context throws(GraphError) in
            guard let declared = context.declaredTypes.first else { throw context.error("a constant has one result") }
            guard let type = declared.tensor, case .elements(let constant)? = context.op[attribute: "value"] else {
                throw context.error("a constant needs a tensor type and an attribute 'value' with its elements")
            }
            let count = try elementCount(of: constant, type, context)
            context.resultValues = [knownElements(of: constant, type.scalar, count: count)]
            return [declared]
        },
        reference: { context throws(KernelError) in
            guard case .elements(let constant)? = context.op[attribute: "value"] else {
                throw KernelError("the attribute 'value' must hold elements")
            }
            try expand(constant, into: context.results[0])
        },
        examples: [
            Example([], attributes: [value([0x80, 0x01], .elements)], results: [.init(.int8, [2], [-128, 1])]),
            Example(
                [], attributes: [value([0xe1, 0xc3, 0x65, 0x07], .bits)],
                results: [.init(.int4, [7], [1, -2, 3, -4, 5, 6, 7])]),
            Example(
                [], attributes: [value([0x81, 0x30, 0x10, 0x05, 0xff, 0x03], .bits)],
                results: [.init(.uint6, [7], [1, 2, 3, 4, 5, 60, 63])]),
            Example([], attributes: [value([0x0c, 0x03], .elements)], results: [.init(.int4, [2], [-4, 3])]),
            Example([], attributes: [value([0xff], .splat)], results: [.init(.uint1, [3], [1, 1, 1])]),
            Example([], attributes: [value([0, 0, 0x80, 0x3f], .splat)], results: [.init(.float32, [], [1])]),
            Example([], attributes: [value([], .elements)], results: [.init(.float32, [0, 2], [])]),
        ]),
    OpDefinition(
        "core.sizes_v1",
        summary: "A tensor of integers known when planning, in the attribute `values`.",
        signature: Signature([], attributes: ["values"]),
        inferTypes: { context throws(GraphError) in
            guard let declared = context.declaredTypes.first, let type = declared.tensor,
                type.scalar.isInteger || type.scalar == .bool, let values = context.steering("values")
            else { throw context.error("needs an integer tensor type and an attribute 'values'") }
            guard type.elementCount.constant == values.count else {
                throw context.error("\(values.count) values do not fill \(type)")
            }
            context.resultValues = [values]
            return [declared]
        },
        reference: { context throws(KernelError) in
            let values = try context.integers("values")
            let result = context.results[0]
            guard values.count == result.count else {
                throw KernelError("\(values.count) values do not fill \(result.shape)")
            }
            for (index, value) in values.enumerated() { try result.store(value, at: index) }
        },
        examples: [
            Example([], attributes: [.init("values", .dimensions([3, -1]))], results: [.init(.int32, [2], [3, -1])]),
            Example([], attributes: [.init("values", .dimensions([]))], results: [.init(.uint32, [0], [])]),
            Example([], attributes: [.init("values", .dimensions([7]))], results: [.init(.int64, [], [7])]),
        ]),
]

private func value(_ bytes: [UInt8], _ packing: Constant.Packing) -> NamedAttribute {
    NamedAttribute("value", .elements(Constant(Bytes(copying: bytes), packing: packing)))
}

/// The number of elements, after checking that the bytes hold them.
private func elementCount(
    of constant: Constant, _ type: TensorType, _ context: InferenceContext
) throws(GraphError) -> Int {
    guard let shape = type.staticShape, let count = type.elementCount.constant, !shape.contains(where: { $0 < 0 })
    else {
        throw context.error("a constant needs fixed sizes, its type is \(type)")
    }
    guard let expected = byteCount(count, type.scalar, constant.packing) else {
        throw context.error("\(type) is too large")
    }
    guard constant.bytes.count == expected else {
        throw context.error("\(type) takes \(expected) bytes, the constant has \(constant.bytes.count)")
    }
    return count
}

private func byteCount(_ count: Int, _ scalar: ScalarType, _ packing: Constant.Packing) -> Int? {
    switch packing {
    case .splat: return scalar.byteStride
    case .elements:
        let (bytes, overflow) = count.multipliedReportingOverflow(by: scalar.byteStride)
        return overflow ? nil : bytes
    case .bits:
        let (bits, overflow) = count.multipliedReportingOverflow(by: scalar.bitWidth)
        return overflow || bits > .max - 7 ? nil : (bits + 7) / 8
    }
}

/// Constants of at most this many integers take part in shape arithmetic.
private let largestKnownCount = 64

private func knownElements(of constant: Constant, _ scalar: ScalarType, count: Int) -> [Dimension]? {
    guard scalar.isInteger || scalar == .bool, scalar.bitWidth <= 64, count <= largestKnownCount else { return nil }
    let memory = Allocation(byteCount: count * scalar.byteStride)
    let tensor = HostTensor(scalar, [count], memory.base)
    guard (try? expand(constant, into: tensor)) != nil else { return nil }
    let integers = tensor.integers
    if scalar == .uint64, integers.contains(where: { $0 < 0 }) { return nil }
    return integers.map { Dimension($0) }
}

extension Constant {
    /// Writes the elements in the form kernels compute on.
    package func expand(into result: HostTensor) throws(KernelError) { try CoreAIOps.expand(self, into: result) }
}

private func expand(_ constant: Constant, into result: HostTensor) throws(KernelError) {
    guard let expected = byteCount(result.count, result.scalar, constant.packing), expected == constant.bytes.count
    else {
        throw KernelError(
            "the constant's \(constant.bytes.count) bytes do not fill \(result.scalar.name)\(result.shape)")
    }
    guard result.count > 0, let source = constant.bytes.unsafeBaseAddress else { return }
    defer { withExtendedLifetime(constant) {} }
    switch constant.packing {
    case .elements: result.base.copyMemory(from: source, byteCount: expected)
    case .splat: fillElements(result, with: UnsafeMutableRawPointer(mutating: source))
    case .bits: unpackBits(source, into: result)
    }
    if result.scalar.isSubByte, constant.packing != .bits { normalizeSubBytes(result) }
    if result.scalar == .bool { normalizeBools(result) }
}

private func unpackBits(_ source: UnsafeRawPointer, into result: HostTensor) {
    let width = result.scalar.bitWidth
    let last = (result.count * width + 7) / 8 - 1
    guard width < 8 else {
        result.base.copyMemory(from: source, byteCount: result.byteCount)
        return
    }
    let target = result.pointer(as: UInt8.self)
    for index in 0..<result.count {
        let (byte, shift) = ((index * width) >> 3, (index * width) & 7)
        var window = UInt16(source.load(fromByteOffset: byte, as: UInt8.self))
        if byte < last { window |= UInt16(source.load(fromByteOffset: byte + 1, as: UInt8.self)) << 8 }
        target[index] = UInt8(truncatingIfNeeded: window >> UInt16(shift))
    }
    normalizeSubBytes(result)
}

/// Clears the bits above the value, or for signed types copies the sign into them.
private func normalizeSubBytes(_ tensor: HostTensor) {
    let spare = UInt8(8 - tensor.scalar.bitWidth)
    let bytes = tensor.pointer(as: UInt8.self)
    if tensor.scalar.isSignedInteger {
        for index in 0..<tensor.count {
            bytes[index] = UInt8(bitPattern: Int8(bitPattern: bytes[index] << spare) >> Int8(spare))
        }
    } else {
        for index in 0..<tensor.count { bytes[index] = (bytes[index] << spare) >> spare }
    }
}

private func normalizeBools(_ tensor: HostTensor) {
    let bytes = tensor.pointer(as: UInt8.self)
    for index in 0..<tensor.count where bytes[index] > 1 { bytes[index] = 1 }
}

extension HostTensor {
    /// Stores a number in an element of an integer or boolean tensor.
    /// - Throws: if the type cannot hold it.
    package func store(_ value: Int, at index: Int) throws(KernelError) {
        func put<T: FixedWidthInteger & BitwiseCopyable>(_: T.Type) throws(KernelError) {
            guard let element = T(exactly: value) else { throw KernelError("\(value) does not fit \(scalar.name)") }
            base.assumingMemoryBound(to: T.self)[index] = element
        }
        switch scalar {
        case .int16: try put(Int16.self)
        case .int32: try put(Int32.self)
        case .int64: try put(Int64.self)
        case .uint16: try put(UInt16.self)
        case .uint32: try put(UInt32.self)
        case .uint64: try put(UInt64.self)
        case _ where scalar.isSignedInteger && scalar.bitWidth <= 8: try put(Int8.self)
        case _ where scalar.bitWidth <= 8: try put(UInt8.self)
        default: throw KernelError("\(scalar.name) does not hold integers")
        }
    }
}
