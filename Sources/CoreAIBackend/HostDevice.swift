import Foundation

/// This machine's processor as a device: memory is the host's, and work is done inside `enqueue`.
///
/// Shared by the backends that compute with host kernels; they differ in how they lower a segment to kernel calls.
package final class HostDevice: Device {
    package let target: Target
    package let fingerprint = Fingerprint("host")
    private let lower: HostLowering

    package init(target: Target, lower: @escaping HostLowering) {
        self.target = target
        self.lower = lower
    }

    package func finalize(_ artifact: Artifact, _ monitor: Monitor) throws(BackendError) -> FinalizedArtifact? { nil }

    package func load(_ artifact: Artifact, _ finalized: FinalizedArtifact?, weights: any WeightSource)
        throws(BackendError) -> any Executable
    {
        try HostExecutable(HostArtifact.decode(artifact), weights: weights, lower: lower)
    }

    package func allocate(byteCount: Int) throws(BackendError) -> any DeviceBuffer {
        try HostBuffer(byteCount: byteCount)
    }

    package func importing(_ memory: UnsafeMutableRawBufferPointer) throws(BackendError) -> (any DeviceBuffer)? {
        HostBuffer(borrowing: memory)
    }

    package func makeStream() throws(BackendError) -> any DeviceStream { HostStream() }
}

/// Host memory as a device buffer: its own, or borrowed for the time of a run.
package final class HostBuffer: DeviceBuffer, @unchecked Sendable {
    private var memory: UnsafeMutableRawBufferPointer
    private let isOwned: Bool
    private static let looksLarge = 64 << 20

    package init(byteCount: Int) throws(BackendError) {
        try Self.checkRoom(for: byteCount)
        guard byteCount >= 0, let base = aligned_alloc(64, (max(byteCount, 1) + 63) & ~63) else {
            throw BackendError(.outOfMemory, "cannot allocate \(byteCount) bytes")
        }
        memory = UnsafeMutableRawBufferPointer(start: base, count: byteCount)
        isOwned = true
    }

    /// The system hands out more memory than it has, and ends the process when it is used: this asks first.
    /// - Throws: `BackendError` with both numbers if there is no room.
    package static func checkRoom(for byteCount: Int) throws(BackendError) {
        guard byteCount > looksLarge else { return }
        let available = availableMemory()
        if byteCount > available {
            throw BackendError(
                .outOfMemory, "needs \(byteCount) bytes at once, \(available) are available to this process")
        }
    }

    package init(borrowing memory: UnsafeMutableRawBufferPointer) {
        self.memory = memory
        isOwned = false
    }

    /// Lends a buffer that owns nothing to other memory. Nothing may be under way that uses it.
    package func borrow(_ memory: UnsafeMutableRawBufferPointer) {
        precondition(!isOwned, "a buffer that owns its memory cannot borrow")
        self.memory = memory
    }

    deinit { if isOwned { free(memory.baseAddress) } }

    package var byteCount: Int { memory.count }
    package var hostBytes: UnsafeMutableRawBufferPointer? { memory }
}

/// Computes at once: a fence it returns has been reached.
package final class HostStream: DeviceStream, @unchecked Sendable {
    private var completed: UInt64 = 0
    private var scratch: HostBuffer?
    private var isCancelled: (() -> Bool)?

    package init() {}

    package func watch(_ isCancelled: (() -> Bool)?) { self.isCancelled = isCancelled }

    package func enqueue(
        _ executable: any Executable, _ bindings: [Binding], symbols: [Int?], after fences: [Fence]
    ) throws(BackendError) -> Fence {
        guard let executable = executable as? HostExecutable else {
            throw BackendError(.invalidArgument, "the executable was loaded by another backend's device")
        }
        for fence in fences where fence.stream !== self { try fence.wait() }
        try executable.run(bindings, symbols: symbols, isCancelled: isCancelled) { (byteCount) throws(BackendError) in
            try self.scratch(byteCount: byteCount)
        }
        completed += 1
        return Fence(stream: self, value: completed)
    }

    package func copy(_ source: Binding, to destination: Binding, after fences: [Fence]) throws(BackendError) -> Fence {
        for fence in fences where fence.stream !== self { try fence.wait() }
        guard let from = source.buffer.hostBytes, let to = destination.buffer.hostBytes else {
            throw BackendError(.unsupported, "the host cannot see a buffer it is to copy")
        }
        let count = min(from.count - source.byteOffset, to.count - destination.byteOffset)
        if count > 0, let target = to.baseAddress, let origin = from.baseAddress {
            (target + destination.byteOffset).copyMemory(from: origin + source.byteOffset, byteCount: count)
        }
        completed += 1
        return Fence(stream: self, value: completed)
    }

    package func wait(for value: UInt64) throws(BackendError) {}

    /// Memory for intermediates, kept between runs.
    private func scratch(byteCount: Int) throws(BackendError) -> UnsafeMutableRawPointer {
        if let scratch, scratch.byteCount >= byteCount, let base = scratch.hostBytes?.baseAddress { return base }
        scratch = nil
        let buffer = try HostBuffer(byteCount: byteCount)
        scratch = buffer
        guard let base = buffer.hostBytes?.baseAddress else { throw BackendError(.outOfMemory, "no scratch memory") }
        return base
    }
}

extension HostDevice {
    /// The plain name of this machine's instruction set.
    package static var hostTarget: Target {
        #if arch(x86_64)
            Target("x86_64")
        #elseif arch(arm64)
            Target("aarch64")
        #else
            Target("unknown")
        #endif
    }
}
