import CoreAIGraph
package import Foundation

extension NumpyArray {
    /// Reads any byte order and element order that NumPy writes.
    /// - Throws: `NumpyError` naming the file, what was expected and what was found.
    package init(contentsOf url: URL) throws(NumpyError) {
        let file: Data
        do {
            file = try Data(contentsOf: url, options: .mappedIfSafe)
        } catch {
            throw NumpyError("\(url.path): \(Self.reason(error))")
        }
        do {
            try self.init(parsing: file)
        } catch {
            throw NumpyError("\(url.path): \(error.message)")
        }
    }

    package init(parsing file: Data) throws(NumpyError) {
        let (header, offset) = try NumpyHeader.parse(file)
        let stride = header.dtype.byteStride
        // Strides count a size of 0 as 1: the shape of an array without elements can be too large as well.
        var extent = stride
        for size in header.shape {
            let (product, overflow) = extent.multipliedReportingOverflow(by: max(size, 1))
            guard !overflow else { throw NumpyError("the shape \(header.shape) is too large") }
            extent = product
        }
        let byteCount = header.shape.contains(0) ? 0 : extent
        guard file.count - offset >= byteCount else {
            throw NumpyError(
                "expected \(byteCount) bytes for \(header.dtype.name) \(header.shape), found \(file.count - offset)")
        }
        var data = Data(file.dropFirst(offset).prefix(byteCount))
        if header.isBigEndian { data = Self.swapped(data, unit: (header.dtype.complexPart ?? header.dtype).byteStride) }
        if header.isFortranOrder, header.shape.count > 1 { data = Self.rowMajor(data, header.shape, stride) }
        self.init(dtype: header.dtype, shape: header.shape, data: data)
    }

    /// Writes format 1.
    /// - Throws: `NumpyError` naming the file.
    package func write(to url: URL) throws(NumpyError) {
        guard let header = NumpyHeader.text(dtype, shape) else {
            throw NumpyError("\(url.path): NumPy has no type for \(dtype.name)")
        }
        // Data starts on a multiple of 64 bytes, the header ends with a line feed.
        let unpadded = NumpyHeader.magic.count + 4 + header.utf8.count + 1
        let padding = (64 - unpadded % 64) % 64
        let length = header.utf8.count + padding + 1
        var file = NumpyHeader.magic
        file.append(contentsOf: [1, 0, UInt8(length & 0xff), UInt8(length >> 8)])
        file.append(contentsOf: Array((header + String(repeating: " ", count: padding) + "\n").utf8))
        file.append(data)
        do {
            try file.write(to: url)
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
