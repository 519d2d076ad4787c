package import CoreAIGraph

// Types NumPy lacks travel as others: bfloat16 as its bits in uint16, 8-bit floats as uint8, the 4-bit float as its code in
// uint8, integers narrower than a byte as int8 or uint8, half-precision complex as complex64.

extension NumpyArray {
    /// The type in a file that stands for `scalar`; nil if none does.
    package static func dtype(for scalar: ScalarType) -> ScalarType? {
        switch scalar {
        case .bfloat16: .uint16
        case .float8e5m2, .float8e4m3fn, .float8e8m0fn, .float4e2m1fn: .uint8
        case .cfloat16: .cfloat32
        case .int128, .uint128: nil
        case _ where scalar.isSubByte: scalar.isSignedInteger ? .int8 : .uint8
        default: scalar
        }
    }

    /// The elements in kernel form: dense, a byte for each element of a type narrower than that.
    ///
    /// - Throws: `NumpyError` if `dtype` does not stand for `scalar`, or an element is out of its range.
    package func bytes(as scalar: ScalarType) throws(NumpyError) -> [UInt8] {
        guard let expected = Self.dtype(for: scalar) else {
            throw NumpyError(file, "expected an array of \(scalar.name), which .npy files cannot hold, found \(dtype.name)")
        }
        guard dtype == expected else {
            let note = expected == scalar ? "" : " (which stands for \(scalar.name))"
            throw NumpyError(file, "expected \(expected.name)\(note), found \(dtype.name)")
        }
        if scalar == .cfloat16 {
            return Self.convert(bytes, from: UInt32.self) { Float16(Float(bitPattern: $0)).bitPattern }
        }
        if scalar.isSubByte { try checkRange(scalar) }
        return bytes
    }

    private func checkRange(_ scalar: ScalarType) throws(NumpyError) {
        let range =
            scalar.isSignedInteger
            ? -(1 << (scalar.bitWidth - 1))...(1 << (scalar.bitWidth - 1)) - 1 : 0...(1 << scalar.bitWidth) - 1
        for (index, byte) in bytes.enumerated() {
            let value = scalar.isSignedInteger ? Int(Int8(bitPattern: byte)) : Int(byte)
            guard range.contains(value) else {
                throw NumpyError(
                    file, "expected \(range.lowerBound) to \(range.upperBound) for \(scalar.name), found \(value) at element \(index)")
            }
        }
    }

    /// An array for a file from elements in kernel form.
    ///
    /// - Throws: `NumpyError` if files cannot hold `scalar`, or `kernelBytes` do not fit `shape`.
    package init(scalar: ScalarType, shape: [Int], kernelBytes: [UInt8]) throws(NumpyError) {
        guard let dtype = Self.dtype(for: scalar) else {
            throw NumpyError("", "expected an element type that .npy files can hold, found \(scalar.name)")
        }
        guard let count = NumpyHeader.byteCount(scalar, shape), count == kernelBytes.count,
            NumpyHeader.byteCount(dtype, shape) != nil
        else { throw NumpyError("", "expected the bytes of \(scalar.name) \(shape), found \(kernelBytes.count) bytes") }
        let bytes =
            scalar == .cfloat16
            ? Self.convert(kernelBytes, from: UInt16.self) { Float(Float16(bitPattern: $0)).bitPattern } : kernelBytes
        self.init(dtype, shape, bytes)
    }

    private static func convert<Old: BitwiseCopyable, New: BitwiseCopyable>(
        _ bytes: [UInt8], from type: Old.Type, _ body: (Old) -> New
    ) -> [UInt8] {
        bytes.withUnsafeBytes { source in
            var result: [UInt8] = []
            result.reserveCapacity(bytes.count / MemoryLayout<Old>.size * MemoryLayout<New>.size)
            for offset in stride(from: 0, to: bytes.count, by: MemoryLayout<Old>.size) {
                withUnsafeBytes(of: body(source.loadUnaligned(fromByteOffset: offset, as: Old.self))) { result += $0 }
            }
            return result
        }
    }
}
