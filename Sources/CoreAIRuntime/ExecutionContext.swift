import CoreAIBackend

/// What one run needs of its own: a block for intermediates and a stream for each device.
final class ExecutionContext: @unchecked Sendable {
    private(set) var arena: HostBuffer
    /// One for each segment; segments of one device share theirs.
    let streams: [any DeviceStream]

    init(_ devices: [any Device]) throws(BackendError) {
        arena = try HostBuffer(byteCount: 0)
        var streams: [any DeviceStream] = []
        for (index, device) in devices.enumerated() {
            if let same = devices[..<index].firstIndex(where: { $0 === device }) {
                streams.append(streams[same])
            } else {
                streams.append(try device.makeStream())
            }
        }
        self.streams = streams
    }

    func reserve(_ byteCount: Int) throws(BackendError) {
        if arena.byteCount < byteCount { arena = try HostBuffer(byteCount: byteCount) }
    }
}
