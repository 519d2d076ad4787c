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

    let executables: [any Executable]
    private let devices: [any Device]
    let memory: MemoryPlan
    /// For each op of control flow, the executors of its regions.
    let regions: [OpID: [Executor]]
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
    func run(
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
        var run = ExecutorRun(executor: self, frame: frame, context: context, symbols: symbols)
        try run.bind(zip(arguments, inputs + states))
        for step in plan.steps {
            if isCancelled() { throw CancellationError() }
            try run.perform(step, output, isCancelled)
        }
        try run.handOn(output)
        try run.wait()
        try run.updateStates(states)
        // Only now: after a failure the context is dropped, since a stream that failed fails all later work.
        contexts.withLock { $0.append(context) }
    }

    private func takeContext() throws -> ExecutionContext {
        if let context = contexts.withLock({ $0.popLast() }) { return context }
        return try ExecutionContext(devices)
    }

    // MARK: Shapes

    /// What follows from the sizes of the inputs alone.
    struct Frame: Sendable {
        /// For each value, its shape if it is known before the run starts.
        var shapes: [[Int]?]
        var arena: ArenaLayout
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
        let frame = Frame(shapes: shapes, arena: ArenaLayout(requests))
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
