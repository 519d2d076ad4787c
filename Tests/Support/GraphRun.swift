package import CoreAIBackend
import CoreAIDelegates
package import CoreAIGraph
package import CoreAIOps
import CoreAIPlanner
import CoreAIRuntime

/// A dense tensor that owns its memory, in the form kernels compute on.
package struct TestTensor: Sendable {
    package let scalar: ScalarType
    package let shape: [Int]
    package let bytes: Bytes

    package init(_ scalar: ScalarType, _ shape: [Int], bytes: Bytes? = nil) {
        self.scalar = scalar
        self.shape = shape
        self.bytes = bytes ?? Bytes(byteCount: shape.reduce(scalar.byteStride, *)) { _ in }
    }

    /// The tensor's memory, which the caller must not write to once it is shared.
    package var host: HostTensor {
        guard let base = bytes.unsafeBaseAddress else { preconditionFailure("an allocation has an address") }
        return HostTensor(scalar, shape, UnsafeMutableRawPointer(mutating: base))
    }

    package var type: TensorType { TensorType(scalar, shape.map { Dimension($0) }) }
}

/// Backends to plan for, in order of preference, with a device each.
package struct TestUnits: Sendable {
    package let name: String
    let units: [Planner.Unit]
    let devices: [String: any Device]

    package init(_ name: String, _ backends: [any Backend]) throws(BackendError) {
        self.name = name
        units = backends.map { Planner.Unit($0, target: $0.targets[0]) }
        var devices: [String: any Device] = [:]
        for backend in backends { devices[backend.info.name] = try backend.devices().first }
        self.devices = devices
    }

    /// Specializes and runs a graph: the whole road but the file.
    /// - Parameter states: updated where they lie.
    package func run(
        _ graph: Graph, _ inputs: [TestTensor], states: [TestTensor] = []
    ) throws -> (outputs: [TestTensor], plan: Plan) {
        let prepared = try prepare(graph)
        return (try prepared.run(inputs, states: states), prepared.plan)
    }

    /// A graph made ready on these units, for any number of runs.
    package func prepare(_ graph: Graph) throws -> Prepared {
        var clock = PhaseClock()
        let function = try SpecializedFunction(
            graph, descriptor: InferenceFunctionDescriptor(graph), library: [:], units: units, clock: &clock)
        let executor = try function.makeExecutor { [devices] (_) throws(BackendError) in devices }
        return Prepared(graph: graph, plan: function.plan, executor: executor)
    }

    package struct Prepared {
        let graph: Graph
        package let plan: Plan
        let executor: any FunctionExecutor

        /// What the host backends call, in order.
        package var kernelNames: [String] { executor.kernelCalls.map(\.name) }

        /// - Parameter states: updated where they lie.
        package func run(_ inputs: [TestTensor], states: [TestTensor] = []) throws -> [TestTensor] {
            var outputs = [TestTensor?](repeating: nil, count: graph.outputs.count)
            try executor.run(
                inputs: inputs.map(\.host), states: states.map(\.host),
                output: { index, shape in
                    let tensor = TestTensor(graph.tensorType(graph.outputs[index].value).scalar, shape)
                    outputs[index] = tensor
                    return tensor.host
                },
                isCancelled: { false })
            return outputs.compactMap { $0 }
        }
    }
}
