import CoreAIBackend
import CoreAIGraph
import CoreAIOps

/// What one run needs of its own: a block for intermediates, a stream for each device, and where each value is.
///
/// All but the addresses of arguments and outputs follows from the frame, so that a run of the sizes of the last one only
/// fills these in. Used by one run at a time.
final class ExecutionContext: @unchecked Sendable {
    private(set) var arena: HostBuffer
    /// One for each segment; segments of one device share theirs.
    let streams: [any DeviceStream]

    /// The frame that the rest is made for.
    private(set) var frame: Frame?
    /// What the caller of a region knew of sizes when the frame was chosen.
    private(set) var outer: [Int?] = []
    /// Where each value is, as far as the frame tells.
    private(set) var bindings: [Binding?] = []
    /// For each segment of a straight frame, its arguments.
    private(set) var lists: [[Binding]] = []
    /// Inputs, then states: memory of the caller's.
    private let arguments: [HostBuffer]
    private let outputs: [HostBuffer]
    /// The last point of each stream in this run.
    private(set) var fences: [Fence] = []

    init(_ devices: [any Device], argumentCount: Int, outputCount: Int) throws(BackendError) {
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
        let nothing = UnsafeMutableRawBufferPointer(start: nil, count: 0)
        arguments = (0..<argumentCount).map { _ in HostBuffer(borrowing: nothing) }
        outputs = (0..<outputCount).map { _ in HostBuffer(borrowing: nothing) }
    }

    /// Makes everything for runs of `frame`.
    func prepare(_ executor: Executor, _ frame: Frame, outer: [Int?]) throws(BackendError) {
        self.frame = nil
        if arena.byteCount < frame.arena.byteCount { arena = try HostBuffer(byteCount: frame.arena.byteCount) }
        let shapes = frame.shapes
        bindings = Array(repeating: nil, count: shapes.count)
        for (value, buffer) in zip(executor.arguments, arguments) {
            bindings[value.index] = shapes[value.index].map { Binding(buffer, shape: $0) }
        }
        for state in executor.memory.updatedStates { bindings[state.output.index] = bindings[state.input.index] }
        for (value, constant) in executor.memory.constants {
            bindings[value.index] = Binding(constant, shape: shapes[value.index] ?? [])
        }
        for (entry, offset) in zip(executor.memory.arenaValues, frame.arena.offsets) {
            bindings[entry.value.index] = shapes[entry.value.index].map {
                Binding(arena, byteOffset: offset, shape: $0)
            }
        }
        if frame.isStraight {
            for (index, value) in executor.memory.directOutputs {
                bindings[value.index] = shapes[value.index].map { Binding(outputs[index], shape: $0) }
            }
            lists = executor.plan.segments.map { segment in
                segment.bindings.compactMap { bindings[$0.index] }
            }
        }
        self.outer = outer
        self.frame = frame
    }

    /// Begins a run over the caller's memory.
    func bind(inputs: [HostTensor], states: [HostTensor]) {
        fences.removeAll(keepingCapacity: true)
        for (index, tensor) in inputs.enumerated() { arguments[index].borrow(tensor) }
        for (index, tensor) in states.enumerated() { arguments[inputs.count + index].borrow(tensor) }
    }

    /// The binding of an argument whose shape the frame does not tell.
    func binding(ofArgument index: Int, shape: [Int]) -> Binding { Binding(arguments[index], shape: shape) }

    func bind(output index: Int, to tensor: HostTensor) { outputs[index].borrow(tensor) }

    func enqueue(_ index: Int, of executor: Executor, _ list: [Binding], _ symbols: [Int?]) throws(BackendError) {
        let fence = try streams[index].enqueue(executor.executables[index], list, symbols: symbols, after: fences)
        if let last = fences.firstIndex(where: { $0.stream === fence.stream }) {
            fences[last] = fence
        } else {
            fences.append(fence)
        }
    }

    func watch(_ isCancelled: (() -> Bool)?) { for stream in streams { stream.watch(isCancelled) } }

    func wait() throws(BackendError) { for fence in fences { try fence.wait() } }
}

/// What follows from the sizes of the inputs alone.
final class Frame: Sendable {
    let symbols: [Int?]
    /// For each value, its shape if it is known before the run starts.
    let shapes: [[Int]?]
    let arena: ArenaLayout
    /// Every segment can be enqueued with what is known now.
    let isStraight: Bool

    init(symbols: [Int?], shapes: [[Int]?], arena: ArenaLayout, isStraight: Bool) {
        self.symbols = symbols
        self.shapes = shapes
        self.arena = arena
        self.isStraight = isStraight
    }
}

extension HostBuffer {
    fileprivate func borrow(_ tensor: HostTensor) {
        borrow(UnsafeMutableRawBufferPointer(start: tensor.base, count: tensor.byteCount))
    }
}
