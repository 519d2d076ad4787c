import CoreAIBackend
import CoreAIGraph
import CoreAIOps

/// One run of an executor: where each value is, and what is known of sizes.
struct ExecutorRun {
    let executor: Executor
    let frame: Frame
    let context: ExecutionContext
    var symbols: [Int?]
    /// Where each value is in this run.
    var bindings: [Binding?]

    /// - Parameter context: prepared for `frame`, and bound to the arguments.
    init(executor: Executor, frame: Frame, context: ExecutionContext, inputs: [HostTensor], states: [HostTensor]) {
        self.executor = executor
        self.frame = frame
        self.context = context
        symbols = frame.symbols
        bindings = context.bindings
        for (index, value) in executor.arguments.enumerated() where bindings[value.index] == nil {
            let tensor = index < inputs.count ? inputs[index] : states[index - inputs.count]
            bindings[value.index] = context.binding(ofArgument: index, shape: tensor.shape)
        }
        for state in executor.memory.updatedStates { bindings[state.output.index] = bindings[state.input.index] }
    }

    private static func binding(_ tensor: HostTensor) -> Binding {
        Binding(
            HostBuffer(borrowing: UnsafeMutableRawBufferPointer(start: tensor.base, count: tensor.byteCount)),
            shape: tensor.shape)
    }

    mutating func perform(
        _ step: Plan.Step, _ output: (Int, [Int]) throws -> HostTensor, _ isCancelled: () -> Bool
    ) throws {
        switch step {
        case .control(let op): try control(op, isCancelled)
        case .resolveSizes(let op): try resolveSizes(op)
        case .run(let segment): try run(segment, output)
        case .runAndBindSizes(let segment): try runAndBindSizes(segment, output)
        }
    }

    private mutating func run(_ index: Int, _ output: (Int, [Int]) throws -> HostTensor) throws {
        if frame.isStraight { return try enqueue(index, context.lists[index]) }
        let segment = executor.plan.segments[index]
        var list: [Binding] = []
        list.reserveCapacity(segment.inputs.count + segment.states.count + segment.outputs.count)
        for value in segment.inputs { list.append(try bound(value)) }
        for state in segment.states { list.append(try bound(state.input)) }
        for value in segment.outputs { list.append(try place(value, output)) }
        try enqueue(index, list)
    }

    private func enqueue(_ index: Int, _ list: [Binding]) throws {
        try context.enqueue(index, of: executor, list, symbols)
    }

    func bound(_ value: ValueID) throws -> Binding {
        guard let binding = bindings[value.index] else {
            throw BackendError(.failed, "\(value) of '\(executor.descriptor.name)' has no memory")
        }
        return binding
    }

    /// Memory for a value about to be written.
    private mutating func place(_ value: ValueID, _ output: (Int, [Int]) throws -> HostTensor) throws -> Binding {
        if let binding = bindings[value.index] { return binding }
        let type = executor.plan.graph.tensorType(value)
        guard let shape = frame.shapes[value.index] ?? type.shape(symbols) else {
            throw BackendError(.invalidArgument, "\(type) has no size for these inputs")
        }
        let binding: Binding
        if let index = executor.memory.outputOf[value] {
            binding = Self.binding(try checkedOutput(value, index, shape, output))
        } else {
            binding = Binding(try HostBuffer(byteCount: executor.bytes(of: value, shape)), shape: shape)
        }
        bindings[value.index] = binding
        return binding
    }

    /// Memory of the caller's for an output, if it can be had at all.
    func checkedOutput(
        _ value: ValueID, _ index: Int, _ shape: [Int], _ output: (Int, [Int]) throws -> HostTensor
    ) throws -> HostTensor {
        try HostBuffer.checkRoom(for: executor.bytes(of: value, shape))
        return try output(index, shape)
    }

    // MARK: Sizes that data decides

    private mutating func resolveSizes(_ id: OpID) throws {
        try wait()
        let graph = executor.plan.graph
        let op = graph[id]
        guard let definition = OpTable[op.name] else { return }
        var types: [ValueType] = []
        var values: [[Dimension]?] = []
        for operand in op.operands {
            let binding = try bound(operand)
            let scalar = graph.tensorType(operand).scalar
            types.append(.tensor(TensorType(scalar, binding.shape.map { Dimension($0) })))
            let isSmallInteger = (scalar.isInteger || scalar == .bool) && binding.shape.reduce(1, *) <= 64
            guard isSmallInteger, let base = binding.buffer.hostBytes?.baseAddress else {
                values.append(nil)
                continue
            }
            let tensor = HostTensor(scalar, binding.shape, base + binding.byteOffset)
            values.append(tensor.integers.map { Dimension($0) })
        }
        var concrete = op
        for index in concrete.attributes.indices {
            if case .dimensions(let sizes) = concrete.attributes[index].value {
                let known = symbols
                concrete.attributes[index].value = .dimensions(
                    sizes.map { size in
                        size.substituting { symbol in
                            known.indices.contains(symbol) ? known[symbol].map { Dimension($0) } : nil
                        }
                    })
            }
        }
        var inference = InferenceContext(
            op: concrete, signature: definition.signature, operandTypes: types, operandValues: values,
            declaredTypes: op.results.map { graph[$0].type }, nextSymbol: symbols.count)
        inference.operandTensors = try op.operands.map { operand in
            let binding = try bound(operand)
            guard let base = binding.buffer.hostBytes?.baseAddress else { return nil }
            return HostTensor(graph.tensorType(operand).scalar, binding.shape, base + binding.byteOffset)
        }
        let resolved = try definition.inferTypes(&inference)
        for (result, type) in zip(op.results, resolved) {
            let sizes = (type.tensor?.shape ?? []).map(\.constant)
            try bindSymbols(of: result, sizes)
        }
        try executor.checkConstraints(symbols)
    }

    mutating func bindSymbols(of value: ValueID, _ sizes: [Int?]) throws {
        for (size, number) in zip(executor.plan.graph.tensorType(value).shape, sizes) {
            guard let symbol = size.symbolNumber, symbols[symbol] == nil else { continue }
            guard let number else {
                throw BackendError(
                    .invalidArgument, "the size \(size) of \(value) does not follow from its operands")
            }
            symbols[symbol] = number
        }
    }

    private mutating func runAndBindSizes(_ index: Int, _ output: (Int, [Int]) throws -> HostTensor) throws {
        let graph = executor.plan.graph
        let segment = executor.plan.segments[index]
        var list: [Binding] = []
        for value in segment.inputs { list.append(try bound(value)) }
        for state in segment.states { list.append(try bound(state.input)) }
        var bounded: [(value: ValueID, data: Binding, sizes: HostBuffer)] = []
        for value in segment.outputs {
            let type = graph.tensorType(value)
            let (limits, known) = (executor.plan.symbolBounds, symbols)
            let bound = TensorType(
                type.scalar, type.shape.map { size in size.substituting { known[$0] == nil ? limits[$0] : nil } })
            guard let shape = bound.shape(symbols) else {
                throw BackendError(.invalidArgument, "\(type) has no upper bound for these inputs")
            }
            let data = Binding(try HostBuffer(byteCount: executor.bytes(of: value, shape)), shape: shape)
            let sizes = try HostBuffer(byteCount: 8 * type.rank)
            bounded.append((value, data, sizes))
            list.append(data)
            list.append(Binding(sizes, shape: [type.rank]))
        }
        try enqueue(index, list)
        try wait()
        for (value, data, sizes) in bounded {
            let numbers = (sizes.hostBytes?.bindMemory(to: Int64.self)).map { $0.map(Int.init) } ?? []
            try bindSymbols(of: value, numbers)
            let binding = Binding(data.buffer, shape: numbers)
            guard let index = executor.memory.outputOf[value] else {
                bindings[value.index] = binding
                continue
            }
            bindings[value.index] = Self.binding(try checkedOutput(value, index, numbers, output))
            try copy(binding, to: bound(value), executor.bytes(of: value, numbers))
        }
        try executor.checkConstraints(symbols)
    }

    // MARK: The end

    /// Gives every output that a segment writes its memory.
    func placeOutputs(_ output: (Int, [Int]) throws -> HostTensor) throws {
        for (index, value) in executor.memory.directOutputs {
            let tensor = try checkedOutput(value, index, frame.shapes[value.index] ?? [], output)
            context.bind(output: index, to: tensor)
        }
    }

    /// Outputs that no segment wrote to their own memory: inputs, constants, and values given out twice.
    func handOn(_ output: (Int, [Int]) throws -> HostTensor) throws {
        guard !executor.memory.copiedOutputs.isEmpty else { return }
        try wait()
        for (index, value) in executor.memory.copiedOutputs {
            let source = try bound(value)
            let target = Self.binding(try checkedOutput(value, index, source.shape, output))
            try copy(source, to: target, executor.bytes(of: value, source.shape))
        }
    }

    /// Moves what each state is left with to the caller's memory, when nobody reads what it held before.
    func updateStates(_ states: [HostTensor]) throws {
        let ports = executor.plan.graph.states
        let updated = Set(executor.memory.updatedStates.map(\.output))
        guard ports.contains(where: { $0.output != $0.input && !updated.contains($0.output) }) else { return }
        // A state that ends as another began (a swap) must leave its memory before that one's is written.
        let entries = Set(ports.map(\.input))
        var moved: [ValueID: Binding] = [:]
        for port in ports where port.output != port.input && entries.contains(port.output) {
            let source = try bound(port.output)
            let byteCount = try executor.bytes(of: port.output, source.shape)
            let copied = Binding(try HostBuffer(byteCount: byteCount), shape: source.shape)
            try copy(source, to: copied, byteCount)
            moved[port.output] = copied
        }
        for (port, tensor) in zip(ports, states) where port.output != port.input && !updated.contains(port.output) {
            let source = try moved[port.output] ?? bound(port.output)
            guard source.shape == tensor.shape else {
                throw RunError(
                    .shape, function: executor.descriptor.name, role: "state", argument: port.name,
                    expected: "an update of shape \(tensor.shape)", found: "\(source.shape)")
            }
            try copy(source, to: Self.binding(tensor), tensor.byteCount)
        }
    }

    private func copy(_ source: Binding, to target: Binding, _ byteCount: Int) throws {
        guard byteCount > 0 else { return }
        guard let from = source.buffer.hostBytes?.baseAddress, let to = target.buffer.hostBytes?.baseAddress else {
            throw BackendError(.unsupported, "the host cannot see a buffer it is to copy")
        }
        to.copyMemory(from: from + source.byteOffset, byteCount: byteCount)
    }

    func wait() throws(BackendError) { try context.wait() }
}
