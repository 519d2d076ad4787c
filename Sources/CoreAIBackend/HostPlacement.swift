import CoreAIGraph

/// The slots of a segment, and which value each belongs to.
struct HostPorts {
    var slots: [Slot] = []
    /// The values that lie in a slot when a run begins, states included.
    var arguments: [(value: ValueID, binding: Int)] = []
    var outputs: [(value: ValueID, binding: Int)] = []
    /// Outputs that their op alone can size, and where their true sizes go.
    var sizes: [(value: ValueID, binding: Int)] = []

    init(_ graph: Graph) {
        for port in graph.inputs {
            arguments.append((port.value, slots.count))
            slots.append(Slot(graph.tensorType(port.value), .read))
        }
        for state in graph.states {
            arguments.append((state.input, slots.count))
            slots.append(Slot(graph.tensorType(state.input), .readWrite))
        }
        var sizedByOp: Set<ValueID> = []
        for op in graph.ops where op[attribute: sizedByOpAttribute] != nil { sizedByOp.formUnion(op.results) }
        for port in graph.outputs {
            outputs.append((port.value, slots.count))
            slots.append(Slot(graph.tensorType(port.value), .write))
            guard sizedByOp.contains(port.value) else { continue }
            sizes.append((port.value, slots.count))
            slots.append(Slot(TensorType(.int64, [Dimension(graph.tensorType(port.value).rank)]), .write))
        }
    }

    /// The same with the values that a lowering has put in the outputs' places.
    func following(_ graph: Graph, to lowered: Graph) -> HostPorts {
        let final = Dictionary(zip(graph.outputs, lowered.outputs).map { ($0.value, $1.value) }) { first, _ in first }
        var ports = self
        ports.outputs = outputs.map { (final[$0.value] ?? $0.value, $0.binding) }
        ports.sizes = sizes.map { (final[$0.value] ?? $0.value, $0.binding) }
        return ports
    }
}

/// Where each value of a program lies, and for how long.
struct HostPlacement {
    enum Place: Hashable, Sendable {
        case binding(Int)
        case constant(Int)
        case temporary(Int)
        case unused
    }

    /// An output or a state that no step writes.
    struct Copy: Sendable {
        var binding: Int
        var source: ValueID
        /// The source lies where another copy goes, as when two states change places.
        var isStaged = false
    }

    private(set) var places: [Place]
    private(set) var temporaries: [ValueID] = []
    /// The first and last step at which each temporary holds something.
    private(set) var lifetimes: [ClosedRange<Int>] = []
    private(set) var copies: [Copy] = []
    private(set) var constants: Set<ValueID> = []
    private(set) var constantBytes: [Bytes] = []

    init(_ program: HostProgram, _ ports: HostPorts, _ constants: HostConstants) throws(BackendError) {
        places = Array(repeating: .unused, count: program.graph.values.count)
        for (value, binding) in ports.arguments { places[value.index] = .binding(binding) }
        let written = Set(program.steps.flatMap(\.results).map(program.root))
        placeOutputs(program, ports, written)
        collectUpdates(program, ports)
        let ends = copies.map(\.source)
        let read = Set((program.steps.flatMap(\.operands) + ends).map(program.root))
        for value in read.sorted() where places[value.index] == .unused {
            guard let bytes = try constants.bytes(value) else { continue }
            places[value.index] = .constant(constantBytes.count)
            self.constants.insert(value)
            constantBytes.append(bytes)
        }
        for value in written.sorted() where places[value.index] == .unused {
            places[value.index] = .temporary(temporaries.count)
            temporaries.append(value)
        }
        for value in read where places[value.index] == .unused {
            throw BackendError(.failed, "\(value) of the segment is read, and nothing makes it")
        }
        lifetimes = lifetimes(program)
        for value in program.views.keys { places[value.index] = places[program.root(of: value).index] }
    }

    /// An output takes the place of the value it is a view of, if a step writes that value and nobody else claimed it.
    private mutating func placeOutputs(_ program: HostProgram, _ ports: HostPorts, _ written: Set<ValueID>) {
        for (value, binding) in ports.outputs {
            let root = program.root(of: value)
            if written.contains(root), places[root.index] == .unused {
                places[root.index] = .binding(binding)
            } else {
                copies.append(Copy(binding: binding, source: value))
            }
        }
        for (value, binding) in ports.sizes {
            if let size = program.sizes[value] { places[size.index] = .binding(binding) }
        }
    }

    /// What a state holds at the end lies in its memory already, or is copied there when nobody reads what it held.
    private mutating func collectUpdates(_ program: HostProgram, _ ports: HostPorts) {
        let bindings = Dictionary(ports.arguments.map { ($0.value, $0.binding) }) { first, _ in first }
        let inputs = Set(program.graph.states.map(\.input))
        for state in program.graph.states {
            let root = program.root(of: state.output)
            guard root != state.input, let binding = bindings[state.input] else { continue }
            copies.append(Copy(binding: binding, source: state.output, isStaged: inputs.contains(root)))
        }
    }

    private func lifetimes(_ program: HostProgram) -> [ClosedRange<Int>] {
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
        return zip(first, last).map { $0 <= $1 ? $0...$1 : 0...0 }
    }
}
