import CoreAIBackend
import CoreAIGraph
import CoreAIOps
import CoreAIRuntime
import Synchronization

/// Runs a function by its general plan, and by a plan of its own where a dynamic size is 1 and that changes the meaning.
///
/// An asset does not say which dynamic sizes are equal. Where two meet in a broadcast, the general plan takes them to be
/// equal; a size that turns out to be 1 may instead have to be repeated. Such a run is planned anew with every dynamic
/// input size that is 1 fixed to 1, once for each set of such sizes.
final class VariantExecutor: FunctionExecutor {
    typealias Specialize = @Sendable (Graph) throws -> Executor

    let descriptor: InferenceFunctionDescriptor
    private let graph: Graph
    private let general: Executor
    private let specialize: Specialize
    private let variants = Guarded<[Set<InputAxis>: Executor]>([:])

    /// Bounds the plans a caller can make us keep.
    private static let variantLimit = 7

    private struct InputAxis: Hashable {
        var input: Int
        var axis: Int
    }

    /// - Parameters:
    ///   - graph: the function as read.
    ///   - general: the executor of its general plan.
    ///   - specialize: plans and loads a graph with some input sizes fixed.
    init(_ graph: Graph, general: Executor, specialize: @escaping Specialize) {
        self.graph = graph
        self.general = general
        self.specialize = specialize
        descriptor = general.descriptor
    }

    package var kernelCalls: [KernelCall] { general.kernelCalls }

    /// The plans made so far, the general one included.
    package var planCount: Int { 1 + variants.withLock(\.count) }

    func run(
        inputs: [HostTensor], states: [HostTensor], output: (_ index: Int, _ shape: [Int]) throws -> HostTensor,
        isCancelled: () -> Bool
    ) throws {
        let ones = dynamicOnes(inputs)
        if !ones.isEmpty, let known = variants.withLock({ $0[ones] }) {
            return try known.run(inputs: inputs, states: states, output: output, isCancelled: isCancelled)
        }
        do {
            try general.run(inputs: inputs, states: states, output: output, isCancelled: isCancelled)
        } catch let error as RunError where error.kind == .sizesDisagree && !ones.isEmpty {
            let variant = try variant(ones)
            try variant.run(inputs: inputs, states: states, output: output, isCancelled: isCancelled)
        }
    }

    private func dynamicOnes(_ inputs: [HostTensor]) -> Set<InputAxis> {
        var ones: Set<InputAxis> = []
        for (index, (port, tensor)) in zip(graph.inputs, inputs).enumerated() {
            guard let type = graph[port.value].type.tensor else { continue }
            for (axis, size) in type.shape.enumerated() where size.isUnknown && tensor.shape[axis] == 1 {
                ones.insert(InputAxis(input: index, axis: axis))
            }
        }
        return ones
    }

    private func variant(_ ones: Set<InputAxis>) throws -> Executor {
        var fixed = graph
        for place in ones {
            let value = fixed.inputs[place.input].value
            guard case .tensor(var type) = fixed[value].type else { continue }
            type.shape[place.axis] = 1
            fixed[value].type = .tensor(type)
        }
        let made = try specialize(fixed)
        return variants.withLock { variants in
            if variants.count >= Self.variantLimit { variants.removeAll() }
            variants[ones] = made
            return made
        }
    }
}
