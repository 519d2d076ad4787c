import CoreAIGraph
package import Foundation

extension NumpyArray {
    /// Reads any byte order and element order that NumPy writes.
    /// - Throws: `NumpyError` naming the file, what was expected and what was found. A file must be exactly as long as its
    ///   header says.
    package init(contentsOf url: URL) throws(NumpyError) {
        let file: Data
        do {
            file = try Data(contentsOf: url, options: .mappedIfSafe)
        } catch {
            throw NumpyError("\(url.path): \(Self.reason(error))")
        }
        do {
            try self.init(parsing: file)
            name = url.path
        } catch {
            throw NumpyError("\(url.path): \(error.message)")
        }
    }

    package init(parsing file: Data) throws(NumpyError) {
        let (header, offset) = try NumpyHeader.parse(file)
        let dtype = header.dtype
        var data = Data(file.dropFirst(offset))
        if header.isBigEndian { data = Self.swapped(data, unit: (dtype.complexPart ?? dtype).byteStride) }
        if header.isFortranOrder, header.shape.count > 1 { data = Self.rowMajor(data, header.shape, dtype.byteStride) }
        self.init(dtype: header.dtype, shape: header.shape, data: data)
    }

    /// Writes format 1.
    /// - Throws: `NumpyError` naming the file, also if NumPy has no such type or `data` is not of `shape`.
    package func write(to url: URL) throws(NumpyError) {
        guard let header = NumpyHeader(dtype: dtype, shape: shape).encoded else {
            throw NumpyError(
                "\(url.path): expected a type of NumPy and at most \(NumpyHeader.maximumRank) sizes, found \(dtype.name) \(shape)")
        }
        guard NumpyHeader.byteCount(dtype, shape) == data.count else {
            throw NumpyError("\(url.path): expected the bytes of \(dtype.name) \(shape), found \(data.count)")
        }
        do {
            try (Data(header) + data).write(to: url)
        } catch {
            throw NumpyError("\(url.path): \(Self.reason(error))")
        }
    }

    /// What the system said, where it did: Foundation's sentence only says that something went wrong.
    private static func reason(_ error: any Error) -> String {
        let underlying = (error as NSError).userInfo[NSUnderlyingErrorKey] as? any Error ?? error
        let known = underlying as NSError
        guard known.domain == NSPOSIXErrorDomain, let text = strerror(Int32(known.code)) else {
            return error.localizedDescription
        }
        return String(cString: text).lowercased()
    }

    private static func swapped(_ data: Data, unit: Int) -> Data {
        guard unit > 1 else { return data }
        var result = Data(capacity: data.count)
        let bytes = [UInt8](data)
        for start in stride(from: 0, to: bytes.count, by: unit) {
            result.append(contentsOf: bytes[start..<start + unit].reversed())
        }
        return result
    }

    /// Column-major bytes in row-major order.
    private static func rowMajor(_ data: Data, _ shape: [Int], _ stride: Int) -> Data {
        var strides = [1]
        for size in shape.dropLast() { strides.append((strides.last ?? 1) * size) }
        let bytes = [UInt8](data)
        var result = [UInt8](repeating: 0, count: bytes.count)
        let count = bytes.count / max(1, stride)
        for flat in 0..<count {
            var (rest, source) = (flat, 0)
            for axis in shape.indices.reversed() {
                source += rest % shape[axis] * strides[axis]
                rest /= shape[axis]
            }
            for byte in 0..<stride { result[flat * stride + byte] = bytes[source * stride + byte] }
        }
        return Data(result)
    }
}
