import CoreAIBackend
import CoreAIGraph
import CoreAIOps

/// Regions run by executors of their own, in this run's place and time.
extension ExecutorRun {
    mutating func control(_ id: OpID, _ isCancelled: () -> Bool) throws {
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
            guard declared.shape(symbols) == result.binding.shape else {
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
}
