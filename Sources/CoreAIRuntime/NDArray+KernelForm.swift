import CoreAIGraph
package import Foundation

/// Arrays from and to the bytes kernels compute on: dense, row-major, `ScalarType.byteStride` bytes an element.
extension NDArray {
    /// - Precondition: `kernelBytes` holds the elements of `shape`.
    package init(kernelBytes: Data, shape: [Int], scalarType: ScalarType) {
        self.init(shape: shape, scalarType: scalarType)
        let byteCount = shape.reduce(scalarType.byteStride, *)
        precondition(kernelBytes.count == byteCount, "\(kernelBytes.count) bytes for \(scalarType.name) \(shape)")
        guard byteCount > 0 else { return }
        kernelBytes.withUnsafeBytes { bytes in
            if let base = bytes.baseAddress { mutableReference.unpack(from: base) }
        }
    }

    package var kernelBytes: Data {
        let byteCount = shape.reduce(scalarType.byteStride, *)
        var data = Data(count: byteCount)
        guard byteCount > 0 else { return data }
        let reference = sharedReference
        data.withUnsafeMutableBytes { bytes in
            if let base = bytes.baseAddress { reference.pack(into: base) }
        }
        withExtendedLifetime(reference) {}
        return data
    }
}
