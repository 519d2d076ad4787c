package import CoreAIBackend
package import CoreAIGraph
package import CoreAIOps
import Dispatch
import Synchronization

/// Walks a plan: binds memory to its values, runs its segments in order, and gives sizes to symbols as they become known.
///
/// Any number of runs may be under way at once; each takes an execution context (memory and streams) of its own from a
/// pool and leaves it there for the next.
package final class Executor: FunctionExecutor {
    package let descriptor: InferenceFunctionDescriptor
    package let plan: Plan

    let executables: [any Executable]
    private let devices: [any Device]
    let memory: MemoryPlan
    /// For each op of control flow, the executors of its regions.
    let regions: [OpID: [Executor]]
    /// The values of inputs, then of states.
    let arguments: [ValueID]
    /// The arguments' sizes that give symbols their values.
    private let sizeSources: [(argument: Int, axis: Int, symbol: Int)]
    private let noSymbols: [Int?]
    /// Nothing but segments, in one order.
    private let hasOnlySegments: Bool
    /// Each run does the same work on this machine's processor.
    private let isUniform: Bool
    private let lastNanoseconds = Atomic<Int>(.max)
    private let contexts = Guarded<[ExecutionContext]>([])
    private let frames = Guarded<[[Int?]: Frame]>([:])

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
        arguments = plan.graph.inputs.map(\.value) + plan.graph.states.map(\.input)
        sizeSources = arguments.enumerated().flatMap { index, value in
            plan.graph.tensorType(value).shape.enumerated().compactMap { axis, size in
                size.symbolNumber.map { (index, axis, $0) }
            }
        }
        noSymbols = Array(repeating: nil, count: plan.graph.symbolCount)
        hasOnlySegments = plan.steps.allSatisfy { if case .run = $0 { true } else { false } }
        isUniform = hasOnlySegments && plan.graph.symbolCount == 0 && devices.allSatisfy { $0 is HostDevice }
    }

    /// Handing over to another thread and back takes 10 to 50 microseconds; a task that computes for a few times that
    /// keeps nobody waiting.
    private static let brief = 200_000

    package var isBrief: Bool { lastNanoseconds.load(ordering: .relaxed) < Self.brief }

    package var kernelCalls: [KernelCall] {
        executables.enumerated().flatMap { segment, executable in
            ((executable as? HostExecutable)?.calls ?? []).map {
                KernelCall(segment: segment, name: $0.name, result: $0.result, location: $0.location)
            }
        }
    }

    package func run(
        inputs: [HostTensor], states: [HostTensor], output: (_ index: Int, _ shape: [Int]) throws -> HostTensor,
        isCancelled: () -> Bool
    ) throws {
        let start = isUniform ? DispatchTime.now().uptimeNanoseconds : 0
        try run(inputs: inputs, states: states, symbols: noSymbols, output: output, isCancelled: isCancelled)
        if isUniform {
            let end = DispatchTime.now().uptimeNanoseconds
            lastNanoseconds.store(Int(clamping: end - start), ordering: .relaxed)
        }
    }

    /// - Parameter outer: the values of the symbols of the graph this one is a region of.
    func run(
        inputs: [HostTensor], states: [HostTensor], symbols outer: [Int?],
        output: (_ index: Int, _ shape: [Int]) throws -> HostTensor,
        isCancelled: () -> Bool
    ) throws {
        guard inputs.count == plan.graph.inputs.count, states.count == plan.graph.states.count else {
            throw BackendError(
                .invalidArgument,
                "'\(descriptor.name)' takes \(arguments.count) inputs and states, found \(inputs.count + states.count)")
        }
        let context = try takeContext()
        let frame: Frame
        if let last = context.frame, context.outer == outer, fits(last, inputs, states) {
            frame = last
        } else {
            do {
                frame = try self.frame(for: symbols(inputs, states, outer))
                try context.prepare(self, frame, outer: outer)
            } catch {
                giveBack(context)  // nothing was enqueued
                throw error
            }
        }
        context.bind(inputs: inputs, states: states)
        var run = ExecutorRun(executor: self, frame: frame, context: context, inputs: inputs, states: states)
        if frame.isStraight { try run.placeOutputs(output) }
        try withoutActuallyEscaping(isCancelled) { probe in
            context.watch(probe)
            defer { context.watch(nil) }
            for step in plan.steps {
                if isCancelled() { throw CancellationError() }
                do {
                    try run.perform(step, output, isCancelled)
                } catch let error as BackendError where error.code == .cancelled {
                    throw CancellationError()
                }
            }
        }
        try run.handOn(output)
        try run.wait()
        try run.updateStates(states)
        // Only now: after a failure the context is dropped, since a stream that failed fails all later work.
        giveBack(context)
    }

    // MARK: Contexts

    private func takeContext() throws -> ExecutionContext {
        if let context = contexts.withLock({ $0.popLast() }) { return context }
        return try ExecutionContext(devices, argumentCount: arguments.count, outputCount: plan.graph.outputs.count)
    }

    /// As many runs compute at once as the worker pool is wide; more contexts than twice that were left by a wider one.
    private func giveBack(_ context: ExecutionContext) {
        let limit = 2 * WorkerPool.shared.width
        contexts.withLock { if $0.count < limit { $0.append(context) } }
    }

    // MARK: Shapes

    private func symbols(_ inputs: [HostTensor], _ states: [HostTensor], _ outer: [Int?]) -> [Int?] {
        var symbols = outer
        while symbols.count < plan.graph.symbolCount { symbols.append(nil) }
        for source in sizeSources {
            let tensor =
                source.argument < inputs.count ? inputs[source.argument] : states[source.argument - inputs.count]
            symbols[source.symbol] = tensor.shape[source.axis]
        }
        return symbols
    }

    /// The arguments' sizes are those of `frame`.
    private func fits(_ frame: Frame, _ inputs: [HostTensor], _ states: [HostTensor]) -> Bool {
        sizeSources.allSatisfy { source in
            let tensor =
                source.argument < inputs.count ? inputs[source.argument] : states[source.argument - inputs.count]
            return frame.symbols[source.symbol] == tensor.shape[source.axis]
        }
    }

    private static let frameLimit = 256

    private func frame(for symbols: [Int?]) throws -> Frame {
        if let known = frames.withLock({ $0[symbols] }) { return known }
        try checkConstraints(symbols)
        let shapes = plan.graph.values.map { $0.type.tensor?.shape(symbols) }
        var requests: [ArenaLayout.Request] = []
        for (value, lifetime) in memory.arenaValues {
            // A value whose size is not known yet gets memory of its own when it is.
            let byteCount = try shapes[value.index].map { try bytes(of: value, $0) } ?? 0
            requests.append(ArenaLayout.Request(byteCount: byteCount, lifetime: lifetime))
        }
        let arguments = Set(arguments)
        let isStraight =
            hasOnlySegments
            && arguments.allSatisfy { shapes[$0.index] != nil }
            && memory.directOutputs.allSatisfy { !arguments.contains($0.value) }
            && plan.segments.allSatisfy { $0.bindings.allSatisfy { shapes[$0.index] != nil } }
        let frame = Frame(symbols: symbols, shapes: shapes, arena: ArenaLayout(requests), isStraight: isStraight)
        frames.withLock {
            if $0.count >= Self.frameLimit { $0.removeAll() }
            $0[symbols] = frame
        }
        return frame
    }

    func bytes(of value: ValueID, _ shape: [Int]) throws -> Int {
        let scalar = plan.graph.tensorType(value).scalar
        guard let count = scalar.byteCount(shape) else {
            throw BackendError(.outOfMemory, "an intermediate \(scalar.name) \(shape) is too large")
        }
        return count
    }

    /// Sizes that an op needs to be equal must be; those not known yet are looked at again when they are.
    func checkConstraints(_ symbols: [Int?]) throws {
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
}
