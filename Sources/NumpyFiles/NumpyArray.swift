package import CoreAIGraph
package import Foundation

/// The contents of an `.npy` file: dense, row-major, little-endian.
package struct NumpyArray: Sendable {
    /// The type as NumPy knows it; it has no 16-bit brain float and nothing narrower than a byte.
    package var dtype: ScalarType
    package var shape: [Int]
    package var data: Data
    /// The file's path, for messages; empty for an array made in memory.
    var name = ""

    package init(dtype: ScalarType, shape: [Int], data: Data) {
        self.dtype = dtype
        self.shape = shape
        self.data = data
    }

    /// The elements in the form kernels compute on (`ScalarType.byteStride` bytes each), as a type that NumPy stores under
    /// another name: bfloat16 as `uint16` bits, 8- and 4-bit floats as `uint8` codes, sub-byte integers as `int8` or `uint8`.
    /// A bool is 0 or 1 there, whatever byte the file has.
    /// - Throws: `NumpyError` if `scalar` is not stored as this file's type, or an element is out of its range.
    package func kernelBytes(as scalar: ScalarType) throws(NumpyError) -> Data {
        guard dtype == scalar.numpyStorage else {
            let stands = scalar.numpyStorage == scalar ? "" : " (for \(scalar.name))"
            throw fault("expected \(scalar.numpyStorage.name)\(stands), found \(dtype.name)")
        }
        if scalar == .bool { return Data(data.map { min($0, 1) }) }
        if scalar.isSubByte { try checkRange(scalar) }
        guard scalar == .cfloat16 else { return data }
        var halves = Data(capacity: data.count / 2)
        data.withUnsafeBytes { bytes in
            for offset in stride(from: 0, to: bytes.count, by: 4) {
                let half = Float16(bytes.loadUnaligned(fromByteOffset: offset, as: Float.self))
                withUnsafeBytes(of: half) { halves.append(contentsOf: $0) }
            }
        }
        return halves
    }

    private func fault(_ message: String) -> NumpyError { NumpyError(name.isEmpty ? message : "\(name): \(message)") }

    private func checkRange(_ scalar: ScalarType) throws(NumpyError) {
        let half = 1 << (scalar.bitWidth - 1)
        let range = scalar.isSignedInteger ? -half...half - 1 : 0...2 * half - 1
        for (index, byte) in data.enumerated() {
            let value = scalar.isSignedInteger ? Int(Int8(bitPattern: byte)) : Int(byte)
            guard range.contains(value) else {
                throw fault(
                    "expected \(range.lowerBound) to \(range.upperBound) for \(scalar.name), found \(value) at element \(index)")
            }
        }
    }

    /// - Parameter kernelBytes: dense, row-major elements of `scalar`, `byteStride` bytes each.
    package init(scalar: ScalarType, shape: [Int], kernelBytes: Data) {
        guard scalar == .cfloat16 else {
            self.init(dtype: scalar.numpyStorage, shape: shape, data: kernelBytes)
            return
        }
        var singles = Data(capacity: kernelBytes.count * 2)
        kernelBytes.withUnsafeBytes { bytes in
            for offset in stride(from: 0, to: bytes.count, by: 2) {
                let single = Float(bytes.loadUnaligned(fromByteOffset: offset, as: Float16.self))
                withUnsafeBytes(of: single) { singles.append(contentsOf: $0) }
            }
        }
        self.init(dtype: .cfloat32, shape: shape, data: singles)
    }
}

extension ScalarType {
    /// The NumPy type that carries this one in a file.
    package var numpyStorage: ScalarType {
        switch self {
        case .bfloat16: .uint16
        case .float8e5m2, .float8e4m3fn, .float8e8m0fn, .float4e2m1fn: .uint8
        case .cfloat16: .cfloat32
        case _ where isSubByte: isSignedInteger ? .int8 : .uint8
        default: self
        }
    }
}

/// What is wrong with an `.npy` file: the file, what was expected, what was found.
package struct NumpyError: Error, LocalizedError, CustomStringConvertible {
    package var message: String
    package init(_ message: String) { self.message = message }
    package var description: String { message }
    package var errorDescription: String? { message }
}
