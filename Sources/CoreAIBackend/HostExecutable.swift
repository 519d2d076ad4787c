package import CoreAIGraph
import CoreAIOps
import Synchronization

/// A program of host kernel calls, ready to run.
///
/// Everything that follows from the shapes (memory layout, kernel arguments) is worked out once for each assignment of the
/// symbols and kept; a run fills in addresses and calls.
package final class HostExecutable: Executable {
    package let slots: [Slot]

    private let program: HostProgram
    /// Where the memory of each value is.
    private let places: [HostPlacement.Place]
    private let temporaries: [ValueID]
    private let lifetimes: [ClosedRange<Int>]
    /// Outputs and states that no step writes.
    private let copies: [HostPlacement.Copy]
    private let constantBytes: [Bytes]
    private let frames = Guarded<Frames>(Frames())

    /// One assignment of the symbols.
    final class Frame: Sendable {
        let calls: [HostCall]
        let shapes: HostShapes
        /// For each value, its offset in the arena, or -1 if it is elsewhere.
        let offsets: [Int]
        let tableByteCount: Int
        let scratchOffset: Int
        let byteCount: Int

        init(_ calls: [HostCall], _ shapes: HostShapes, _ offsets: [Int], arenaByteCount: Int) {
            self.calls = calls
            self.shapes = shapes
            self.offsets = offsets
            tableByteCount = (offsets.count * MemoryLayout<UnsafeRawPointer>.stride + 127) & ~63
            scratchOffset = tableByteCount + ((arenaByteCount + 63) & ~63)
            byteCount = scratchOffset + (calls.map(\.scratchByteCount).max() ?? 0)
        }
    }

    private struct Frames {
        var bySymbols: [[Int?]: Frame] = [:]
        var last: (symbols: [Int?], frame: Frame)?
    }

    private static let frameLimit = 64

    package init(
        _ graph: Graph, weights: any WeightSource, lower: HostLowering
    ) throws(BackendError) {
        var graph = graph
        let constants = try HostConstants(&graph, weights)
        let ports = HostPorts(graph)
        var program = try lower(graph, constants)
        program.updateInPlace()
        let placement = try HostPlacement(program, ports.following(graph, to: program.graph), constants)
        constants.keep(only: placement.constants)
        slots = ports.slots
        self.program = program
        places = placement.places
        temporaries = placement.temporaries
        lifetimes = placement.lifetimes
        copies = placement.copies
        constantBytes = placement.constantBytes
    }

    /// What the executable calls, in order, each with the type of its first result and where that came from.
    package var calls: [(name: String, result: String, location: SourceLocation?)] {
        program.steps.map { step in
            (step.name, step.results.first.map { "\(program.graph.tensorType($0))" } ?? "-", step.op.location)
        }
    }

    package func resultShapes(for inputs: [[Int]]) throws(BackendError) -> [[Int]]? {
        guard program.sizes.isEmpty else { return nil }
        let graph = program.graph
        var symbols = [Int?](repeating: nil, count: graph.symbolCount)
        for (port, shape) in zip(graph.inputs, inputs) {
            for (size, number) in zip(graph.tensorType(port.value).shape, shape) {
                if let symbol = size.symbolNumber, symbols.indices.contains(symbol) { symbols[symbol] = number }
            }
        }
        var shapes: [[Int]] = []
        for port in graph.outputs {
            guard let shape = graph.tensorType(port.value).shape(symbols) else { return nil }
            shapes.append(shape)
        }
        return shapes
    }

    /// Computes on the caller's thread.
    /// - Parameters:
    ///   - isCancelled: asked before each kernel call.
    ///   - scratch: answers memory of at least the given size, aligned to 64 bytes.
    func run(
        _ bindings: [Binding], symbols: [Int?], isCancelled: (() -> Bool)? = nil,
        scratch: (Int) throws(BackendError) -> UnsafeMutableRawPointer
    ) throws(BackendError) {
        guard bindings.count == slots.count else {
            throw BackendError(.invalidArgument, "\(bindings.count) bindings for \(slots.count) slots")
        }
        let frame = try self.frame(for: symbols, bindings)
        let block = try scratch(frame.byteCount)
        let table = block.assumingMemoryBound(to: UnsafeMutableRawPointer.self)
        let arena = block + frame.tableByteCount
        for index in places.indices {
            switch places[index] {
            case .binding(let binding):
                guard let base = bindings[binding].buffer.hostBytes?.baseAddress else {
                    throw BackendError(.invalidArgument, "a buffer the host cannot see")
                }
                table[index] = base + bindings[binding].byteOffset
            case .temporary: table[index] = arena + frame.offsets[index]
            case .constant(let number):
                table[index] = constantBytes[number].unsafeBaseAddress.map(UnsafeMutableRawPointer.init) ?? arena
            case .unused: table[index] = arena
            }
        }
        let memory = HostMemory(addresses: table, scratch: block + frame.scratchOffset)
        let isProfiled = HostProfile.shared.isRunning
        for index in frame.calls.indices {
            if let isCancelled, isCancelled() { throw BackendError(.cancelled, "cancelled") }
            do {
                if isProfiled {
                    try profile(index, frame, memory)
                } else {
                    try frame.calls[index].run(memory)
                }
            } catch {
                throw BackendError(
                    .failed, GraphError(error.message, op: program.steps[index].op).description)
            }
        }
        try copyOut(bindings, frame, memory)
    }

    /// Moves what no step wrote to its place: outputs that are views of arguments, and what states are left with.
    private func copyOut(_ bindings: [Binding], _ frame: Frame, _ memory: HostMemory) throws(BackendError) {
        guard !copies.isEmpty else { return }
        // What lies where another copy goes leaves before anything is written.
        var staged: [HostBuffer?] = []
        for copy in copies {
            guard copy.isStaged else {
                staged.append(nil)
                continue
            }
            let count = byteCount(copy, frame)
            let buffer = try HostBuffer(byteCount: count)
            buffer.hostBytes?.baseAddress?.copyMemory(from: memory[copy.source], byteCount: count)
            staged.append(buffer)
        }
        for (copy, buffer) in zip(copies, staged) {
            guard let base = bindings[copy.binding].buffer.hostBytes?.baseAddress else { continue }
            let source = buffer?.hostBytes?.baseAddress ?? memory[copy.source]
            (base + bindings[copy.binding].byteOffset).copyMemory(from: source, byteCount: byteCount(copy, frame))
        }
    }

    private func byteCount(_ copy: HostPlacement.Copy, _ frame: Frame) -> Int {
        program.graph.tensorType(copy.source).scalar.byteCount(frame.shapes[copy.source]) ?? 0
    }

    private func profile(_ index: Int, _ frame: Frame, _ memory: HostMemory) throws(KernelError) {
        let start = ContinuousClock.now
        try frame.calls[index].run(memory)
        let step = program.steps[index]
        HostProfile.shared.add(
            step.name, step.results.first.map { frame.shapes[$0] } ?? [], ContinuousClock.now - start)
    }

    // MARK: Frames

    private func frame(for symbols: [Int?], _ bindings: [Binding]) throws(BackendError) -> Frame {
        let known = frames.withLock { frames -> Frame? in
            if let last = frames.last, last.symbols == symbols { return last.frame }
            guard let frame = frames.bySymbols[symbols] else { return nil }
            frames.last = (symbols, frame)
            return frame
        }
        if let known { return known }
        let frame = try makeFrame(symbols, bindings)
        // Sizes that come with the bindings are not told by the symbols.
        guard program.sizes.isEmpty else { return frame }
        frames.withLock {
            if $0.bySymbols.count >= Self.frameLimit { $0.bySymbols.removeAll() }
            $0.bySymbols[symbols] = frame
            $0.last = (symbols, frame)
        }
        return frame
    }

    private func makeFrame(_ symbols: [Int?], _ bindings: [Binding]) throws(BackendError) -> Frame {
        let graph = program.graph
        var shapes = [[Int]](repeating: [], count: graph.values.count)
        for (index, value) in graph.values.enumerated() {
            guard let type = value.type.tensor else { continue }
            if case .binding(let binding) = places[index], program.sizes[ValueID(index)] != nil {
                shapes[index] = bindings[binding].shape  // the upper bound
                continue
            }
            guard let shape = type.shape(symbols) else {
                if places[index] == .unused { continue }
                throw BackendError(.invalidArgument, "\(type) has no size for these inputs")
            }
            try Self.checkCount(shape, type)
            shapes[index] = shape
        }
        var requests: [ArenaLayout.Request] = []
        for (value, lifetime) in zip(temporaries, lifetimes) {
            guard let byteCount = graph.tensorType(value).scalar.byteCount(shapes[value.index]) else {
                throw BackendError(.outOfMemory, "\(graph.tensorType(value)) is too large")
            }
            requests.append(ArenaLayout.Request(byteCount: byteCount, lifetime: lifetime))
        }
        let arena = ArenaLayout(requests)
        let offsets = places.map { place in
            if case .temporary(let number) = place { arena.offsets[number] } else { -1 }
        }
        let known = HostShapes(symbols: symbols, shapes: shapes)
        var calls: [HostCall] = []
        calls.reserveCapacity(program.steps.count)
        for step in program.steps { calls.append(try step.prepare(known)) }
        return Frame(calls, known, offsets, arenaByteCount: arena.byteCount)
    }

    /// Strides and counts are products of sizes that must not overflow, not even where one of the sizes is 0.
    private static func checkCount(_ shape: [Int], _ type: TensorType) throws(BackendError) {
        var count = 1
        for size in shape {
            let (product, overflow) = count.multipliedReportingOverflow(by: max(1, size))
            guard !overflow, product <= 1 << 48 else {
                throw BackendError(.unsupported, "\(type) has the sizes \(shape), their product must be below 2^48")
            }
            count = product
        }
    }
}

/// Marks an op that alone can tell the sizes of its results; set by the planner.
package let sizedByOpAttribute = "core.sized_by_op"

extension ScalarType {
    /// The bytes of a dense tensor of this type where kernels compute; nil beyond what memory can hold.
    package func byteCount(_ shape: [Int]) -> Int? {
        var count = byteStride
        for size in shape {
            let (product, overflow) = count.multipliedReportingOverflow(by: size)
            if overflow || product > 1 << 46 { return nil }
            count = product
        }
        return count
    }
}
