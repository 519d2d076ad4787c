public let kCVPixelFormatType_32BGRA: OSType = 0x4247_5241
public let kCVPixelFormatType_32RGBA: OSType = 0x5247_4241
public let kCVPixelFormatType_OneComponent8: OSType = 0x4C30_3038
public let kCVPixelFormatType_OneComponent16Half: OSType = 0x4C30_3068
public let kCVPixelFormatType_OneComponent32Float: OSType = 0x4C30_3066

/// The pixels of an image, zeroed at first. Rows begin on multiples of 64 bytes.
package final class PixelMemory: @unchecked Sendable {
    package let width: Int
    package let height: Int
    package let format: OSType
    package let bytesPerRow: Int
    package let memory: ArrayMemory

    /// Nil for a size that is not positive or a format that is not one of the `kCVPixelFormatType` constants here.
    package init?(width: Int, height: Int, format: OSType) {
        let bytesPerPixel: [OSType: Int] = [
            kCVPixelFormatType_32BGRA: 4, kCVPixelFormatType_32RGBA: 4, kCVPixelFormatType_OneComponent8: 1,
            kCVPixelFormatType_OneComponent16Half: 2, kCVPixelFormatType_OneComponent32Float: 4,
        ]
        guard let size = bytesPerPixel[format], 1...(1 << 20) ~= width, 1...(1 << 20) ~= height else { return nil }
        self.width = width
        self.height = height
        self.format = format
        bytesPerRow = (width * size).roundedUp(toMultipleOf: 64)
        memory = ArrayMemory(byteCount: bytesPerRow * height)
    }
}

/// An image that can be written. Copies share their pixels.
public struct CVMutablePixelBuffer: @unchecked Sendable {
    package let pixels: PixelMemory

    /// Nil for a size that is not positive or a format without a `kCVPixelFormatType` constant.
    public init?(width: Int, height: Int, pixelFormatType: OSType) {
        guard let pixels = PixelMemory(width: width, height: height, format: pixelFormatType) else { return nil }
        self.pixels = pixels
    }
    package init(_ pixels: PixelMemory) { self.pixels = pixels }

    public var width: Int { pixels.width }
    public var height: Int { pixels.height }
    public var pixelFormatType: OSType { pixels.format }
    public var bytesPerRow: Int { pixels.bytesPerRow }
    /// The first byte of the first row; valid while a copy of this value lives.
    public var baseAddress: UnsafeMutableRawPointer { pixels.memory.base }
}

/// An image that is only read. Shares the pixels of the buffer it is made from.
public struct CVReadOnlyPixelBuffer: @unchecked Sendable {
    package let pixels: PixelMemory

    public init(_ buffer: CVMutablePixelBuffer) { pixels = buffer.pixels }
    package init(_ pixels: PixelMemory) { self.pixels = pixels }

    public var width: Int { pixels.width }
    public var height: Int { pixels.height }
    public var pixelFormatType: OSType { pixels.format }
    public var bytesPerRow: Int { pixels.bytesPerRow }
    /// The first byte of the first row; valid while a copy of this value lives.
    public var baseAddress: UnsafeRawPointer { UnsafeRawPointer(pixels.memory.base) }
}
