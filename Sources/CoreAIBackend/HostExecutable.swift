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
    private let places: [Place]
    private let temporaries: [ValueID]
    private let lifetimes: [ClosedRange<Int>]
    /// Outputs and states that no step writes.
    private let copies: [Copy]
    private let constantBytes: [Bytes]
    private let frames = Mutex<Frames>(Frames())

    private enum Place: Hashable, Sendable {
        case binding(Int)
        case constant(Int)
        case temporary(Int)
        case unused
    }

    private struct Copy: Sendable {
        var binding: Int
        var source: ValueID
        /// The source lies where another copy goes, as when two states change places.
        var isStaged = false
    }

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
        for value in graph.values {
            if let type = value.type.tensor { try Self.checkCount(type.shape.compactMap(\.constant), type) }
        }
        let constants = try HostConstants(&graph, weights)
        var slots = graph.inputs.map { Slot(graph.tensorType($0.value), .read) }
        var bindings: [ValueID: Int] = [:]
        for (index, port) in graph.inputs.enumerated() { bindings[port.value] = index }
        for state in graph.states {
            bindings[state.input] = slots.count
            slots.append(Slot(graph.tensorType(state.input), .readWrite))
        }
        var outputs: [(value: ValueID, binding: Int)] = []
        var sizeBindings: [(value: ValueID, binding: Int)] = []
        let sizedByOp = Self.valuesSizedByTheirOp(in: graph)
        for port in graph.outputs {
            outputs.append((port.value, slots.count))
            slots.append(Slot(graph.tensorType(port.value), .write))
            if sizedByOp.contains(port.value) {
                sizeBindings.append((port.value, slots.count))
                slots.append(Slot(TensorType(.int64, [Dimension(graph.tensorType(port.value).rank)]), .write))
            }
        }
        var program = try lower(graph, constants)
        program.updateInPlace()
        self.slots = slots
        // A lowering may have put another value in an output's place.
        let final = Dictionary(zip(graph.outputs, program.graph.outputs).map { ($0.value, $1.value) }) { first, _ in
            first
        }
        outputs = outputs.map { (final[$0.value] ?? $0.value, $0.binding) }
        sizeBindings = sizeBindings.map { (final[$0.value] ?? $0.value, $0.binding) }
        let inputs = bindings
        // What a state holds at the end lies in its memory already, or is copied there when nobody reads what it held.
        let updates = program.graph.states.filter { program.root(of: $0.output) != $0.input }

        var places = [Place](repeating: .unused, count: program.graph.values.count)
        for (value, binding) in bindings { places[value.index] = .binding(binding) }
        let written = Set(program.steps.flatMap(\.results).map(program.root))
        var copies: [Copy] = []
        var constantBytes: [Bytes] = []
        // An output takes the place of the value it is a view of, if a step writes that value and nobody else claimed it.
        for (value, binding) in outputs {
            let root = program.root(of: value)
            if written.contains(root), places[root.index] == .unused {
                places[root.index] = .binding(binding)
            } else {
                copies.append(Copy(binding: binding, source: value))
            }
        }
        let stateInputs = Set(program.graph.states.map(\.input))
        for state in updates {
            let isStaged = stateInputs.contains(program.root(of: state.output))
            copies.append(Copy(binding: inputs[state.input] ?? 0, source: state.output, isStaged: isStaged))
        }
        for (value, binding) in sizeBindings {
            if let size = program.sizes[value] { places[size.index] = .binding(binding) }
        }
        let ends = outputs.map(\.value) + updates.map(\.output)
        let read = Set(program.steps.flatMap(\.operands).map(program.root) + ends.map(program.root))
        for value in read.sorted() where places[value.index] == .unused {
            guard let bytes = try constants.bytes(value) else { continue }
            places[value.index] = .constant(constantBytes.count)
            constantBytes.append(bytes)
        }
        constants.keep(only: read)
        var temporaries: [ValueID] = []
        for value in written.sorted() where places[value.index] == .unused {
            places[value.index] = .temporary(temporaries.count)
            temporaries.append(value)
        }
        var first = [Int](repeating: .max, count: temporaries.count)
        var last = [Int](repeating: 0, count: temporaries.count)
        func touch(_ value: ValueID, _ step: Int) {
            guard case .temporary(let number) = places[program.root(of: value).index] else { return }
            first[number] = min(first[number], step)
            last[number] = max(last[number], step)
        }
        for (index, step) in program.steps.enumerated() {
            for value in step.operands + step.results { touch(value, index) }
        }
        for copy in copies { touch(copy.source, program.steps.count) }
        for value in program.views.keys { places[value.index] = places[program.root(of: value).index] }
        self.program = program
        self.places = places
        self.temporaries = temporaries
        self.copies = copies
        self.constantBytes = constantBytes
        lifetimes = zip(first, last).map { $0 <= $1 ? $0...$1 : 0...0 }
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
        var staged: [(target: UnsafeMutableRawPointer, buffer: HostBuffer, count: Int)] = []
        for copy in copies {
            guard let base = bindings[copy.binding].buffer.hostBytes?.baseAddress else { continue }
            let target = base + bindings[copy.binding].byteOffset
            let count = program.graph.tensorType(copy.source).scalar.byteCount(frame.shapes[copy.source]) ?? 0
            guard copy.isStaged else {
                target.copyMemory(from: memory[copy.source], byteCount: count)
                continue
            }
            let buffer = try HostBuffer(byteCount: count)
            buffer.hostBytes?.baseAddress?.copyMemory(from: memory[copy.source], byteCount: count)
            staged.append((target, buffer, count))
        }
        for copy in staged {
            guard let source = copy.buffer.hostBytes?.baseAddress else { continue }
            copy.target.copyMemory(from: source, byteCount: copy.count)
        }
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

    /// Outputs whose type names a symbol that no input of the segment and no op before it can give.
    private static func valuesSizedByTheirOp(in graph: Graph) -> Set<ValueID> {
        var values: Set<ValueID> = []
        for op in graph.ops where op[attribute: sizedByOpAttribute] != nil { values.formUnion(op.results) }
        return values
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
