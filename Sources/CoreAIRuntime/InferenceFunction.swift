/// A function of a model, ready to run.
///
/// Runs may happen at the same time; each has its own scratch memory.
public struct InferenceFunction: Sendable {
    public let descriptor: InferenceFunctionDescriptor
    let executor: any FunctionExecutor

    /// What the processor's backends call, in order.
    package var kernelCalls: [KernelCall] { executor.kernelCalls }
    /// How many plans the function's runs have needed so far.
    package var planCount: Int { executor.planCount }

    package init(executor: any FunctionExecutor) {
        self.executor = executor
        descriptor = executor.descriptor
    }

    /// Computes the outputs.
    ///
    /// Every input and every state is required, an output view is optional; arrays may have any strides. States are
    /// updated in place. After an error during the computation, states and output views hold anything; arguments are
    /// checked before.
    /// - Parameters:
    ///   - inputs: arrays by name, of the descriptor's scalar types and shapes, where -1 accepts any size.
    ///   - states: as `inputs`, for `descriptor.stateNames`.
    ///   - outputViews: where to write outputs; those are left out of the result.
    /// - Throws: `RunError` for arguments that do not fit, `CancellationError` when the task is cancelled, or what made
    ///   the computation fail.
    nonisolated(nonsending) public func run(
        inputs: [String: NDArray], states: consuming MutableViews = MutableViews(),
        outputViews: consuming MutableViews = MutableViews()
    ) async throws -> Outputs {
        let arguments = try descriptor.arguments(
            inputs: inputs.mapValues { .array($0.sharedReference) }, states: states.arguments,
            outputViews: outputViews.arguments)
        return Outputs(try await perform(arguments))
    }

    /// The same with views and images as inputs.
    nonisolated(nonsending) public func run(
        inputs: borrowing Inputs, states: consuming MutableViews = MutableViews(),
        outputViews: consuming MutableViews = MutableViews()
    ) async throws -> Outputs {
        let arguments = try descriptor.arguments(
            inputs: inputs.arguments, states: states.arguments, outputViews: outputViews.arguments)
        return Outputs(try await perform(arguments))
    }

    private typealias Results = [(name: String, content: InferenceValue.Content)]

    /// Runs on a thread of our own: one hop out, one back. A brief run stays here, and ends before it could be cancelled.
    nonisolated(nonsending) private func perform(_ arguments: RunArguments) async throws -> Results {
        try Task.checkCancellation()
        let executor = executor
        if executor.isBrief,
            let result = RunThreads.shared.runHere({ Result { try executor.execute(arguments) { false } } })
        {
            return try result.get()
        }
        let flag = CancellationFlag()
        let pending = Pending<Results>()
        return try await withTaskCancellationHandler {
            RunThreads.shared.submit { pending.finish(Result { try executor.execute(arguments) { flag.isSet } }) }
            return try await pending.value
        } onCancel: {
            flag.set()
        }
    }
}
