// Apple's names for memory and queues of an accelerator, as far as Core AI's signatures need them.

public typealias OSType = UInt32

/// Memory that the host sees.
public protocol MTLBuffer: AnyObject, Sendable {
    /// The first byte; valid while the buffer lives.
    func contents() -> UnsafeMutableRawPointer
    /// In bytes.
    var length: Int { get }
}

public protocol MTLCommandQueue: AnyObject, Sendable {
    var device: any MTLDevice { get }
}

public protocol MTLDevice: AnyObject, Sendable {
    var name: String { get }
    /// Zeroed memory, or nil when there is none left or `length` is not positive.
    func makeBuffer(length: Int, options: MTLResourceOptions) -> (any MTLBuffer)?
    /// A copy of `length` bytes.
    func makeBuffer(bytes: UnsafeRawPointer, length: Int, options: MTLResourceOptions) -> (any MTLBuffer)?
    func makeCommandQueue() -> (any MTLCommandQueue)?
}

public struct MTLResourceOptions: OptionSet, Hashable, Sendable {
    public let rawValue: UInt
    public init(rawValue: UInt) { self.rawValue = rawValue }
    public static let cpuCacheModeWriteCombined = MTLResourceOptions(rawValue: 1)
    public static let storageModeShared: MTLResourceOptions = []
}

extension MTLDevice {
    public func makeBuffer(length: Int) -> (any MTLBuffer)? { makeBuffer(length: length, options: []) }
    public func makeBuffer(bytes: UnsafeRawPointer, length: Int) -> (any MTLBuffer)? {
        makeBuffer(bytes: bytes, length: length, options: [])
    }
}

/// A device whose memory is the host's.
public func MTLCreateSystemDefaultDevice() -> (any MTLDevice)? { HostDevice.shared }

private final class HostDevice: MTLDevice {
    static let shared = HostDevice()
    let name = "Host memory"

    func makeBuffer(length: Int, options: MTLResourceOptions) -> (any MTLBuffer)? {
        length > 0 ? HostBuffer(length: length) : nil
    }

    func makeBuffer(bytes: UnsafeRawPointer, length: Int, options: MTLResourceOptions) -> (any MTLBuffer)? {
        guard let buffer = makeBuffer(length: length, options: options) else { return nil }
        buffer.contents().copyMemory(from: bytes, byteCount: length)
        return buffer
    }

    func makeCommandQueue() -> (any MTLCommandQueue)? { HostQueue() }
}

private final class HostQueue: MTLCommandQueue {
    var device: any MTLDevice { HostDevice.shared }
}

private final class HostBuffer: MTLBuffer {
    private let memory: ArrayMemory
    init(length: Int) { memory = ArrayMemory(byteCount: length) }
    func contents() -> UnsafeMutableRawPointer { memory.base }
    var length: Int { memory.byteCount }
}
