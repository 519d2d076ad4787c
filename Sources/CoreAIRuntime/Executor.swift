package import CoreAIBackend
package import CoreAIGraph
package import CoreAIOps
import Synchronization

/// Walks a plan: binds memory to its values, runs its segments in order, and gives sizes to symbols as they become known.
///
/// Any number of runs may be under way at once; each takes an execution context (memory and streams) of its own from a
/// pool and leaves it there for the next.
package final class Executor: FunctionExecutor {
    package let descriptor: InferenceFunctionDescriptor
    package let plan: Plan

    private let executables: [any Executable]
    private let devices: [any Device]
    private let memory: MemoryPlan
    /// For each op of control flow, the executors of its regions.
    private let regions: [OpID: [Executor]]
    private let contexts = Mutex<[ExecutionContext]>([])
    private let frames = Mutex<[[Int?]: Frame]>([:])

    /// - Parameters:
    ///   - executables: one for each segment of the plan.
    ///   - devices: the device of each segment.
    ///   - regions: executors of the plan's subplans.
    package init(
        _ plan: Plan, descriptor: InferenceFunctionDescriptor, executables: [any Executable], devices: [any Device],
        regions: [OpID: [Executor]] = [:]
    ) throws(BackendError) {
        self.plan = plan
        self.regions = regions
        self.descriptor = descriptor
        self.executables = executables
        self.devices = devices
        memory = try MemoryPlan(plan)
    }

    package func run(
        inputs: [HostTensor], states: [HostTensor], output: (_ index: Int, _ shape: [Int]) throws -> HostTensor,
        isCancelled: () -> Bool
    ) throws {
        let symbols = [Int?](repeating: nil, count: plan.graph.symbolCount)
        try run(inputs: inputs, states: states, symbols: symbols, output: output, isCancelled: isCancelled)
    }

    /// - Parameter outer: the values of the symbols of the graph this one is a region of.
    fileprivate func run(
        inputs: [HostTensor], states: [HostTensor], symbols outer: [Int?],
        output: (_ index: Int, _ shape: [Int]) throws -> HostTensor,
        isCancelled: () -> Bool
    ) throws {
        var symbols = outer
        while symbols.count < plan.graph.symbolCount { symbols.append(nil) }
        let arguments = plan.graph.inputs.map(\.value) + plan.graph.states.map(\.input)
        for (value, tensor) in zip(arguments, inputs + states) {
            for (size, number) in zip(plan.graph.tensorType(value).shape, tensor.shape) {
                if let symbol = size.symbolNumber { symbols[symbol] = number }
            }
        }
        let frame = try frame(for: symbols)
        let context = try takeContext()
        defer { contexts.withLock { $0.append(context) } }
        var run = Run(executor: self, frame: frame, context: context, symbols: symbols)
        try run.bind(zip(arguments, inputs + states))
        for step in plan.steps {
            if isCancelled() { throw CancellationError() }
            try run.perform(step, output, isCancelled)
        }
        try run.handOn(output)
        try run.wait()
        try run.updateStates(states)
    }

    private func takeContext() throws -> ExecutionContext {
        if let context = contexts.withLock({ $0.popLast() }) { return context }
        return try ExecutionContext(devices)
    }

    // MARK: Shapes

    /// What follows from the sizes of the inputs alone.
    private struct Frame: Sendable {
        /// For each value, its shape if it is known before the run starts.
        var shapes: [[Int]?]
        var arena: ArenaLayout
    }

    private static let frameLimit = 256

    private func frame(for symbols: [Int?]) throws -> Frame {
        if let known = frames.withLock({ $0[symbols] }) { return known }
        try checkConstraints(symbols)
        let shapes = plan.graph.values.map { $0.type.tensor.flatMap { Self.shape(of: $0, symbols) } }
        var requests: [ArenaLayout.Request] = []
        for (value, lifetime) in memory.arenaValues {
            // A value whose size is not known yet gets memory of its own when it is.
            let byteCount = try shapes[value.index].map { try bytes(of: value, $0) } ?? 0
            requests.append(ArenaLayout.Request(byteCount: byteCount, lifetime: lifetime))
        }
        let frame = Frame(shapes: shapes, arena: ArenaLayout(requests))
        frames.withLock {
            if $0.count >= Self.frameLimit { $0.removeAll() }
            $0[symbols] = frame
        }
        return frame
    }

    fileprivate func bytes(of value: ValueID, _ shape: [Int]) throws -> Int {
        let scalar = plan.graph.tensorType(value).scalar
        guard let count = scalar.byteCount(shape) else {
            throw BackendError(.outOfMemory, "an intermediate \(scalar.name) \(shape) is too large")
        }
        return count
    }

    fileprivate static func shape(of type: TensorType, _ symbols: [Int?]) -> [Int]? {
        var shape: [Int] = []
        shape.reserveCapacity(type.rank)
        for size in type.shape {
            guard let number = size.evaluated(symbols), number >= 0 else { return nil }
            shape.append(number)
        }
        return shape
    }

    /// Sizes that an op needs to be equal must be; those not known yet are looked at again when they are.
    fileprivate func checkConstraints(_ symbols: [Int?]) throws {
        for constraint in plan.constraints {
            guard let left = constraint.left.evaluated(symbols), let right = constraint.right.evaluated(symbols),
                left != right
            else { continue }
            throw disagreement(constraint, left, right)
        }
    }

    private func disagreement(_ constraint: SizeConstraint, _ left: Int, _ right: Int) -> RunError {
        func names(_ size: Dimension) -> String {
            let symbols = size.symbols
            let inputs = plan.graph.inputs.flatMap { port in
                plan.graph.tensorType(port.value).shape.enumerated().compactMap { axis, input in
                    input.symbolNumber.map(symbols.contains) == true ? "'\(port.name)' (axis \(axis))" : nil
                }
            }
            return inputs.isEmpty ? "a computed size" : inputs.joined(separator: ", ")
        }
        let place = constraint.location.map { " at \($0)" } ?? ""
        let first = plan.graph.inputs.first { port in
            plan.graph.tensorType(port.value).shape.contains { !$0.symbols.isDisjoint(with: constraint.left.symbols) }
        }
        return RunError(
            .sizesDisagree, function: descriptor.name, role: "input", argument: first?.name ?? "",
            expected: "equal sizes for \(constraint.op)\(place)",
            found: "\(left) from \(names(constraint.left)) and \(right) from \(names(constraint.right))")
    }

    // MARK: One run

    private struct Run {
        let executor: Executor
        let frame: Frame
        let context: ExecutionContext
        var symbols: [Int?]
        /// Where each value is in this run.
        private var bindings: [Binding?]
        private var fences: [Fence] = []

        init(executor: Executor, frame: Frame, context: ExecutionContext, symbols: [Int?]) {
            self.executor = executor
            self.frame = frame
            self.context = context
            self.symbols = symbols
            bindings = Array(repeating: nil, count: executor.plan.graph.values.count)
        }

        mutating func bind(_ arguments: some Sequence<(ValueID, HostTensor)>) throws {
            for (value, tensor) in arguments { bindings[value.index] = Self.binding(tensor) }
            for (value, constant) in executor.memory.constants {
                bindings[value.index] = Binding(constant, shape: frame.shapes[value.index] ?? [])
            }
            try context.reserve(frame.arena.byteCount)
            for (index, entry) in executor.memory.arenaValues.enumerated() {
                guard let shape = frame.shapes[entry.value.index] else { continue }
                bindings[entry.value.index] = Binding(
                    context.arena, byteOffset: frame.arena.offsets[index], shape: shape)
            }
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
            let segment = executor.plan.segments[index]
            var list: [Binding] = []
            list.reserveCapacity(segment.inputs.count + segment.outputs.count)
            for value in segment.inputs { list.append(try bound(value)) }
            for value in segment.outputs { list.append(try place(value, output)) }
            try enqueue(index, list)
        }

        private mutating func enqueue(_ index: Int, _ list: [Binding]) throws {
            let fence = try context.streams[index].enqueue(
                executor.executables[index], list, symbols: symbols, after: fences)
            if let last = fences.firstIndex(where: { $0.stream === fence.stream }) {
                fences[last] = fence
            } else {
                fences.append(fence)
            }
        }

        private func bound(_ value: ValueID) throws -> Binding {
            guard let binding = bindings[value.index] else {
                throw BackendError(.failed, "\(value) of '\(executor.descriptor.name)' has no memory")
            }
            return binding
        }

        /// Memory for a value about to be written.
        private mutating func place(_ value: ValueID, _ output: (Int, [Int]) throws -> HostTensor) throws -> Binding {
            if let binding = bindings[value.index] { return binding }
            let type = executor.plan.graph.tensorType(value)
            guard let shape = frame.shapes[value.index] ?? Executor.shape(of: type, symbols) else {
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
        private func checkedOutput(
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
                        sizes.map { size in size.substituting { symbol in known[symbol].map { Dimension($0) } } })
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

        private mutating func bindSymbols(of value: ValueID, _ sizes: [Int?]) throws {
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
            var bounded: [(value: ValueID, data: Binding, sizes: HostBuffer)] = []
            for value in segment.outputs {
                let type = graph.tensorType(value)
                let (limits, known) = (executor.plan.symbolBounds, symbols)
                let bound = TensorType(
                    type.scalar, type.shape.map { size in size.substituting { known[$0] == nil ? limits[$0] : nil } })
                guard let shape = Executor.shape(of: bound, symbols) else {
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

        // MARK: Control flow

        private mutating func control(_ id: OpID, _ isCancelled: () -> Bool) throws {
            try wait()
            let op = executor.plan.graph[id]
            guard let regions = executor.regions[id], regions.count == 2 else {
                throw BackendError(.failed, "\(op.name) was loaded without its regions")
            }
            var results: [OwnedValue]
            if op.name.hasPrefix("controlflow.if") {
                let condition = OwnedValue(try bound(op.operands[0]), .bool)
                let chosen = condition.isTrue ? 0 : 1
                results = try run(regions[chosen], [], captures: op.regions[chosen].captures, isCancelled)
            } else {
                results = try op.operands.map { OwnedValue(try bound($0), executor.plan.graph.tensorType($0).scalar) }
                while true {
                    if isCancelled() { throw CancellationError() }
                    let answer = try run(regions[0], results, captures: op.regions[0].captures, isCancelled)
                    results = Array(answer.dropFirst())
                    guard let condition = answer.first, condition.isTrue else { break }
                    results = try run(regions[1], results, captures: op.regions[1].captures, isCancelled)
                }
            }
            for (value, result) in zip(op.results, results) {
                try bindSymbols(of: value, result.binding.shape)
                let declared = executor.plan.graph.tensorType(value)
                guard Executor.shape(of: declared, symbols) == result.binding.shape else {
                    throw BackendError(
                        .failed,
                        GraphError("gives \(result.binding.shape) where \(declared) is declared", op: op).description)
                }
                bindings[value.index] = result.binding
            }
            try executor.checkConstraints(symbols)
        }

        /// A value of a region, in memory of its own or somebody else's.
        private struct OwnedValue {
            var binding: Binding
            var scalar: ScalarType

            init(_ binding: Binding, _ scalar: ScalarType) {
                self.binding = binding
                self.scalar = scalar
            }

            /// The first element of a boolean.
            var isTrue: Bool {
                withExtendedLifetime(binding.buffer) { tensor?.base.load(as: UInt8.self) ?? 0 } != 0
            }

            /// Valid while this value lives.
            var tensor: HostTensor? {
                binding.buffer.hostBytes?.baseAddress.map { HostTensor(scalar, binding.shape, $0 + binding.byteOffset) }
            }
        }

        private func tensor(_ value: ValueID) throws -> HostTensor {
            let owned = OwnedValue(try bound(value), executor.plan.graph.tensorType(value).scalar)
            guard let tensor = owned.tensor else { throw BackendError(.unsupported, "the host cannot see \(value)") }
            return tensor
        }

        /// Runs a region and answers its outputs in memory of their own.
        private func run(
            _ region: Executor, _ arguments: [OwnedValue], captures: [ValueID], _ isCancelled: () -> Bool
        ) throws -> [OwnedValue] {
            var inputs = arguments.compactMap(\.tensor)
            for capture in captures { inputs.append(try tensor(capture)) }
            let graph = region.plan.graph
            var outputs = [OwnedValue?](repeating: nil, count: graph.outputs.count)
            try withExtendedLifetime(arguments) {
                try region.run(
                    inputs: inputs, states: [], symbols: symbols,
                    output: { index, shape in
                        let value = graph.outputs[index].value
                        let buffer = try HostBuffer(byteCount: region.bytes(of: value, shape))
                        let owned = OwnedValue(Binding(buffer, shape: shape), graph.tensorType(value).scalar)
                        outputs[index] = owned
                        guard let tensor = owned.tensor else {
                            throw BackendError(.outOfMemory, "no memory for a region")
                        }
                        return tensor
                    },
                    isCancelled: isCancelled)
            }
            return outputs.compactMap { $0 }
        }

        // MARK: The end

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
            for (port, tensor) in zip(ports, states) where port.output != port.input {
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
            guard byteCount > 0, let from = source.buffer.hostBytes?.baseAddress,
                let to = target.buffer.hostBytes?.baseAddress
            else { return }
            to.copyMemory(from: from + source.byteOffset, byteCount: byteCount)
        }

        func wait() throws(BackendError) { for fence in fences { try fence.wait() } }
    }
}

/// What one run needs of its own: a block for intermediates and a stream for each device.
private final class ExecutionContext: @unchecked Sendable {
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

/// Which memory each value of a plan lives in, and for how long.
private struct MemoryPlan: Sendable {
    /// Values that pass from segment to segment, with the steps during which they hold something.
    var arenaValues: [(value: ValueID, lifetime: ClosedRange<Int>)] = []
    /// Values that segments write straight to an output.
    var outputOf: [ValueID: Int] = [:]
    /// Outputs that are copied when everything has run.
    var copiedOutputs: [(index: Int, value: ValueID)] = []
    /// Constants that are outputs, or that sizes are resolved from.
    var constants: [(value: ValueID, buffer: HostBuffer)] = []

    init(_ plan: Plan) throws(BackendError) {
        var firstStep: [ValueID: Int] = [:]
        var lastStep: [ValueID: Int] = [:]
        var sizedByOp: Set<ValueID> = []
        let finals = plan.graph.states.map(\.output)
        var read: Set<ValueID> = Set(plan.graph.outputs.map(\.value)).union(finals)
        for (index, step) in plan.steps.enumerated() {
            switch step {
            case .run(let segment), .runAndBindSizes(let segment):
                let segment = plan.segments[segment]
                segment.outputs.forEach { firstStep[$0] = index }
                (segment.inputs + segment.outputs).forEach { lastStep[$0] = index }
                if case .runAndBindSizes = step { sizedByOp.formUnion(segment.outputs) }
            case .control(let op):
                let used = plan.graph[op].operands + plan.graph[op].regions.flatMap(\.captures)
                used.forEach { lastStep[$0] = index }
                read.formUnion(used)
            case .resolveSizes(let op):
                plan.graph[op].operands.forEach { lastStep[$0] = index }
                read.formUnion(plan.graph[op].operands)
            }
        }
        for value in finals { lastStep[value] = plan.steps.count }
        for (index, port) in plan.graph.outputs.enumerated() {
            if firstStep[port.value] != nil, outputOf[port.value] == nil {
                outputOf[port.value] = index
            } else {
                copiedOutputs.append((index, port.value))
            }
        }
        for value in firstStep.keys.sorted() where outputOf[value] == nil && !sizedByOp.contains(value) {
            let first = firstStep[value] ?? 0
            arenaValues.append((value, first...max(first, lastStep[value] ?? first)))
        }
        for op in plan.graph.ops where op.isConstant && op.results.contains(where: read.contains) {
            for result in op.results { constants.append((result, try Self.expand(op, plan.graph.tensorType(result)))) }
        }
    }

    private static func expand(_ op: Op, _ type: TensorType) throws(BackendError) -> HostBuffer {
        guard let definition = OpTable[op.name], let shape = type.staticShape, let count = type.scalar.byteCount(shape)
        else {
            throw BackendError(.invalidArgument, "a constant of type \(type)")
        }
        let buffer = try HostBuffer(byteCount: count)
        guard let base = buffer.hostBytes?.baseAddress else { return buffer }
        var context = KernelContext(
            op: op, signature: definition.signature, operands: [], results: [HostTensor(type.scalar, shape, base)])
        do {
            try definition.reference(&context)
        } catch {
            throw BackendError(.failed, GraphError(error.message, op: op).description)
        }
        return buffer
    }
}
