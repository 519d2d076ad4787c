import CoreAIGraph

extension Decoder {
    /// The elements of a constant whose result has the given type.
    ///
    /// Elements that lie in a resource may be a bit stream, where inline ones take a byte each; `bool` takes a byte and
    /// `uint1` a bit in both. The number of bytes must be what the type says.
    func constant(_ index: Int, type: ValueType) throws(ReadError) -> Constant {
        guard case .tensor(let type) = type, let shape = type.staticShape else {
            throw fault(
                attribute: index, "expected a constant of a dense tensor with fixed sizes, found one of \(type)")
        }
        let scalar = type.scalar
        // The type's byte count is known to fit, so the element count does.
        let count = shape.contains(0) ? 0 : shape.reduce(1, &*)
        let streamSize = count / 8 * scalar.bitWidth + (count % 8 * scalar.bitWidth + 7) / 8
        let bytes: Bytes
        let packings: [(packing: Constant.Packing, size: Int)]
        switch try storedAttribute(index) {
        case .dense(true, let element):
            bytes = element
            // Writers mark equal booleans as a splat and still store all of them.
            packings = [(.splat, scalar.byteStride)] + (scalar == .bool ? [(.elements, count)] : [])
        case .dense(false, let elements):
            bytes = elements
            packings = [scalar == .uint1 ? (.bits, streamSize) : (.elements, count * scalar.byteStride)]
        case .record(7, let values):
            guard case .number(let number)? = values.first, let resource = Int(exactly: number) else { fallthrough }
            bytes = try container.blob(resource)
            packings =
                (scalar.isSubByte ? [(.bits, streamSize)] : []) + [(.elements, count * scalar.byteStride)]
        default:
            throw fault(
                attribute: index,
                "expected dense elements or a dense resource as a constant's value, found another attribute")
        }
        guard let match = packings.first(where: { $0.size == bytes.count }) else {
            let sizes = packings.map { "\($0.size)" }.joined(separator: " or ")
            throw fault(attribute: index, "expected \(sizes) bytes for a constant of \(type), found \(bytes.count)")
        }
        return Constant(match.packing == .splat ? normalizedSplat(bytes, scalar, index) : bytes, packing: match.packing)
    }

    /// A narrow splat may be stored with all bits set for its ones; an element has only its own.
    private func normalizedSplat(_ bytes: Bytes, _ scalar: ScalarType, _ index: Int) -> Bytes {
        guard scalar == .bool || scalar.isSubByte, let stored = bytes.withUnsafeBytes({ $0.first }) else {
            return bytes
        }
        let value = scalar == .bool ? (stored == 0 ? 0 : 1) : stored & ((1 << UInt8(scalar.bitWidth)) - 1)
        if value == stored { return bytes }
        if let known = splats[index], known.withUnsafeBytes({ $0.first }) == value { return known }
        let copy = Bytes(copying: CollectionOfOne(value))
        splats[index] = copy
        return copy
    }
}
