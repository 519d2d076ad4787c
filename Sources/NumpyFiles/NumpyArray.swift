package import CoreAIGraph
package import Foundation

/// An array as a `.npy` file holds it.
package struct NumpyArray: Sendable {
    /// One of the types NumPy has: bool, integers of 8 to 64 bits, float16 to float64, cfloat32 and cfloat64.
    package var dtype: ScalarType
    package var shape: [Int]
    /// The elements, row-major, without gaps, little-endian; a bool is 0 or 1.
    package var bytes: [UInt8]
    /// The file's path, for messages.
    var file = ""

    /// Reads versions 1 to 3 of the format, in either byte order and either element order.
    ///
    /// - Throws: `NumpyError` for a file that cannot be read, has an element type of no `ScalarType`, or is not exactly as
    ///   long as its header says.
    package init(contentsOf url: URL) throws(NumpyError) {
        file = url.path
        let data: [UInt8]
        do { data = try [UInt8](Data(contentsOf: url)) } catch {
            throw NumpyError(url.path, "expected a .npy file, found none that can be read: \(error.localizedDescription)")
        }
        let (header, start) = try Self.header(of: data, file)
        guard let expected = NumpyHeader.byteCount(header.dtype, header.shape) else {
            throw NumpyError(file, "expected a shape of fewer than 2^63 bytes, found \(header.shape) of \(header.dtype.name)")
        }
        guard data.count - start == expected else {
            throw NumpyError(
                file, "expected \(expected) bytes for \(header.dtype.name) \(header.shape), found \(data.count - start)")
        }
        dtype = header.dtype
        shape = header.shape
        bytes = Array(data[start...])
        if header.isBigEndian { reverseBytes() }
        if dtype == .bool { for index in bytes.indices where bytes[index] > 1 { bytes[index] = 1 } }
        if header.isFortranOrder { makeRowMajor() }
    }

    private static func header(of data: [UInt8], _ file: String) throws(NumpyError) -> (NumpyHeader, start: Int) {
        guard data.starts(with: NumpyFormat.magic), data.count >= 10 else {
            throw NumpyError(
                file, "expected a .npy file, which starts with \\x93NUMPY, found \(data.count) bytes of something else")
        }
        guard (1...3).contains(data[6]) else {
            throw NumpyError(file, "expected version 1, 2 or 3 of the .npy format, found \(data[6]).\(data[7])")
        }
        let start = data[6] == 1 ? 10 : 12
        guard data.count >= start else {
            throw NumpyError(file, "expected a header length of 4 bytes, found the end of the file")
        }
        let length = data[8..<start].reversed().reduce(0) { $0 << 8 | Int($1) }
        guard length <= data.count - start else {
            throw NumpyError(file, "expected a header of \(length) bytes, found \(data.count - start) in the file")
        }
        do {
            return (try NumpyHeader(parsing: data[start..<start + length]), start + length)
        } catch {
            throw NumpyError(file, error.message)
        }
    }

    /// Writes version 1 of the format, little-endian and row-major.
    ///
    /// - Throws: `NumpyError` if the file cannot be written, `dtype` is no type of NumPy or `bytes` do not fit `shape`.
    package func write(to url: URL) throws(NumpyError) {
        guard NumpyHeader.names.contains(where: { $0.type == dtype }), shape.count <= NumpyHeader.maximumRank else {
            throw NumpyError(
                url.path, "expected a type of NumPy and at most \(NumpyHeader.maximumRank) sizes, found \(dtype.name) \(shape)")
        }
        guard let count = NumpyHeader.byteCount(dtype, shape), bytes.count == count else {
            throw NumpyError(url.path, "expected the bytes of \(dtype.name) \(shape), found \(bytes.count) bytes")
        }
        do { try Data(NumpyHeader(dtype: dtype, shape: shape).encoded + bytes).write(to: url) } catch {
            throw NumpyError(url.path, "cannot be written: \(error.localizedDescription)")
        }
    }

    init(_ dtype: ScalarType, _ shape: [Int], _ bytes: [UInt8]) {
        self.dtype = dtype
        self.shape = shape
        self.bytes = bytes
    }

    private mutating func reverseBytes() {
        let size = (dtype.complexPart ?? dtype).byteStride
        guard size > 1 else { return }
        for start in stride(from: 0, to: bytes.count, by: size) { bytes[start..<start + size].reverse() }
    }

    private mutating func makeRowMajor() {
        guard shape.count > 1, !bytes.isEmpty else { return }
        let size = dtype.byteStride
        var strides: [Int] = []
        var next = size
        for extent in shape {
            strides.append(next)
            next *= extent
        }
        var result: [UInt8] = []
        result.reserveCapacity(bytes.count)
        var index = [Int](repeating: 0, count: shape.count)
        var offset = 0
        while result.count < bytes.count {
            result += bytes[offset..<offset + size]
            for axis in shape.indices.reversed() {
                index[axis] += 1
                offset += strides[axis]
                if index[axis] < shape[axis] { break }
                offset -= strides[axis] * shape[axis]
                index[axis] = 0
            }
        }
        bytes = result
    }
}
