/// Immutable bytes that somebody else keeps alive: a slice of a mapped file or of an allocation.
///
/// Copying a `Bytes` copies a reference. The bytes stay valid as long as any copy lives.
public struct Bytes: @unchecked Sendable {
    private let owner: AnyObject?
    private let buffer: UnsafeRawBufferPointer

    /// - Parameter owner: what must stay alive (and unchanged) for `buffer` to be valid.
    public init(_ buffer: UnsafeRawBufferPointer, owner: AnyObject?) {
        self.buffer = buffer
        self.owner = owner
    }

    /// A copy of `bytes` in memory of its own, aligned to 64 bytes.
    public init(copying bytes: some Collection<UInt8>) {
        let allocation = Allocation(byteCount: bytes.count)
        let pointer = UnsafeMutableRawBufferPointer(start: allocation.base, count: bytes.count)
        pointer.copyBytes(from: bytes)
        self.init(UnsafeRawBufferPointer(pointer), owner: allocation)
    }

    /// `byteCount` bytes written by `fill`.
    public init(byteCount: Int, filledBy fill: (UnsafeMutableRawBufferPointer) throws -> Void) rethrows {
        let allocation = Allocation(byteCount: byteCount)
        let pointer = UnsafeMutableRawBufferPointer(start: allocation.base, count: byteCount)
        try fill(pointer)
        self.init(UnsafeRawBufferPointer(pointer), owner: allocation)
    }

    public var count: Int { buffer.count }

    public func withUnsafeBytes<Result, E: Error>(
        _ body: (UnsafeRawBufferPointer) throws(E) -> Result
    ) throws(E) -> Result {
        defer { withExtendedLifetime(owner) {} }
        return try body(buffer)
    }

    /// The part of these bytes in `range`, sharing their memory; nil if the range leaves them.
    public func slice(_ range: Range<Int>) -> Bytes? {
        guard range.lowerBound >= 0, range.upperBound <= count else { return nil }
        return Bytes(UnsafeRawBufferPointer(rebasing: buffer[range]), owner: owner)
    }

    /// The address of the first byte; valid while this value (or a copy) lives.
    package var unsafeBaseAddress: UnsafeRawPointer? { buffer.baseAddress }
}

/// Zeroed memory aligned to 64 bytes.
package final class Allocation: @unchecked Sendable {
    package let base: UnsafeMutableRawPointer
    package let byteCount: Int

    package init(byteCount: Int) {
        self.byteCount = byteCount
        base = .allocate(byteCount: max(byteCount, 64), alignment: 64)
        base.initializeMemory(as: UInt8.self, repeating: 0, count: max(byteCount, 64))
    }

    deinit { base.deallocate() }
}

extension Bytes: Hashable {
    public static func == (a: Bytes, b: Bytes) -> Bool {
        a.count == b.count
            && (a.buffer.baseAddress == b.buffer.baseAddress || a.buffer.elementsEqual(b.buffer))
    }
    public func hash(into hasher: inout Hasher) {
        hasher.combine(count)
        hasher.combine(bytes: UnsafeRawBufferPointer(rebasing: buffer.prefix(64)))
    }
}
