package import CoreAIBackend
package import CoreAIGraph
package import CoreAIPlanner
package import CoreAIRuntime

/// One function, planned and compiled: all that loading needs.
package struct SpecializedFunction: Sendable {
    package let descriptor: InferenceFunctionDescriptor
    package let plan: Plan
    private let compiled: CompiledPlan
    /// What it was made from, for plans that a run may ask for later.
    private let graph: Graph
    private let library: [String: Graph]
    private let units: [Planner.Unit]

    /// - Throws: `GraphError`, `PlanError`, `BackendError`, `CancellationError`.
    package init(
        _ graph: Graph, descriptor: InferenceFunctionDescriptor, library: [String: Graph], units: [Planner.Unit],
        isCancelled: @escaping @Sendable () -> Bool = { false }, clock: inout PhaseClock
    ) throws {
        self.descriptor = descriptor
        self.graph = graph
        self.library = library
        self.units = units
        let canonical = try clock.measure("canonicalize") { try canonicalize(graph, library: library) }
        if isCancelled() { throw CancellationError() }
        plan = try clock.measure("plan") { [canonical] in try Planner(units: units).plan(canonical) }
        if isCancelled() { throw CancellationError() }
        let unitOf = Dictionary(units.map { ($0.backend.info.name, $0) }, uniquingKeysWith: { first, _ in first })
        let monitor = Monitor { _ in !isCancelled() }
        compiled = try clock.measure("compile") { [plan] in try CompiledPlan(plan, unitOf, monitor) }
    }

    /// Devices by the names of their backends.
    package typealias DeviceOpener = @Sendable (Set<String>) throws(BackendError) -> [String: any Device]

    /// Loads the function so that it can run.
    package func makeExecutor(_ open: @escaping DeviceOpener) throws(BackendError) -> any FunctionExecutor {
        let general = try load(open)
        guard !plan.constraints.isEmpty else { return general }
        return VariantExecutor(graph, general: general) { [self] fixed in
            var clock = PhaseClock()
            return try SpecializedFunction(fixed, descriptor: descriptor, library: library, units: units, clock: &clock)
                .load(open)
        }
    }

    private func load(_ open: DeviceOpener) throws(BackendError) -> Executor {
        try compiled.load(on: open(plan.backends), descriptor: descriptor)
    }
}

extension InferenceFunctionDescriptor {
    /// The descriptor of a function as read: handles are states, tokens are left out.
    package init(_ graph: Graph) throws(GraphError) {
        var inputs: [Entry] = []
        var states: [Entry] = []
        var outputs: [Entry] = []
        for port in graph.inputs {
            if case .handle(let inner) = graph[port.value].type {
                states.append((port.name, try Self.describe(inner, port.name)))
            } else {
                inputs.append((port.name, try Self.describe(graph[port.value].type, port.name)))
            }
        }
        for port in graph.outputs where graph[port.value].type != .token {
            outputs.append((port.name, try Self.describe(graph[port.value].type, port.name)))
        }
        self.init(name: graph.name, inputs: inputs, states: states, outputs: outputs)
    }

    private static func describe(_ type: ValueType, _ name: String) throws(GraphError) -> InferenceValue.Descriptor {
        switch type {
        case .tensor(let tensor):
            return .ndArray(
                NDArrayDescriptor(scalarType: tensor.scalar, shape: tensor.shape.map { $0.constant ?? -1 }))
        case .image(let image):
            return .image(ImageDescriptor(height: image.height, width: image.width, pixelFormatType: image.pixelFormat))
        default:
            throw GraphError("'\(name)' of type \(type) cannot cross the border of a function")
        }
    }
}
