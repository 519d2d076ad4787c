import CoreAIGraph
import Synchronization

/// Work that is executed in the order in which it is encoded. One owner at a time encodes.
public final class ComputeStream {
    private let commandQueue: (any MTLCommandQueue)?
    private var last = Pending<Void>(())

    /// - Parameter commandQueue: kept alive by the stream. The host executes the work.
    public init(commandQueue: any MTLCommandQueue) { self.commandQueue = commandQueue }

    public convenience init() { self.init(queue: nil) }

    private init(queue: (any MTLCommandQueue)?) { commandQueue = queue }

    /// Waits for what was encoded so far. Failures stay in the values.
    nonisolated(nonsending) public func currentWorkCompleted() async {
        let last = last
        _ = try? await last.value
    }

    /// Makes `work` the last of the stream and returns the one before.
    func append(_ work: Pending<Void>) -> Pending<Void> {
        defer { last = work }
        return last
    }
}

extension InferenceFunction {
    /// Queues a run and returns its outputs as values that come to exist when it is done.
    ///
    /// The run starts when the work before it on `stream`, the values it takes, and earlier work on its states and
    /// output views are done. If one of those values failed, it fails with the same error, and so do its outputs and
    /// mutable values.
    /// - Returns: the outputs that have no view.
    /// - Throws: `RunError` for arguments that do not fit as far as they are known; for the rest the values throw.
    public func encode(
        inputs: [String: AsyncValue], states: consuming AsyncMutableViews = AsyncMutableViews(),
        outputViews: consuming AsyncMutableViews = AsyncMutableViews(), to stream: ComputeStream
    ) throws -> [String: AsyncValue] {
        let states = states.targets
        let views = outputViews.targets
        try descriptor.check(
            inputs: inputs.mapValues(\.type), states: states.mapValues { ArgumentType($0.content.argument) },
            outputViews: views.mapValues { ArgumentType($0.content.argument) })

        var outputs: [String: AsyncValue] = [:]
        for (name, output) in descriptor.outputs where views[name] == nil {
            outputs[name] = AsyncValue(type: ArgumentType(output), pending: Pending())
        }
        let work = EncodedRun(
            executor: executor, inputs: inputs.mapValues(\.pending), states: states.mapValues(\.content),
            outputViews: views.mapValues(\.content), outputs: outputs.mapValues(\.pending))
        // Only written once each, even if a caller passes one value under two names.
        var targets: [ObjectIdentifier: WriteTarget] = [:]
        for target in states.values { targets[ObjectIdentifier(target)] = target }
        for target in views.values { targets[ObjectIdentifier(target)] = target }
        work.start(
            after: stream.append(work.order), writes: targets.values.map { $0.append(work.written) },
            values: inputs.values.map(\.pending))
        return outputs
    }
}

extension ArgumentType {
    fileprivate init(_ descriptor: InferenceValue.Descriptor) {
        switch descriptor {
        case .ndArray(let array): self = .array(array.scalarType, shape: array.shape)
        case .image: self = .image
        }
    }
}

/// A run that waits for others. No thread waits with it: the last of them puts it in line.
private final class EncodedRun: Sendable {
    private let executor: any FunctionExecutor
    private let inputs: [String: Pending<AsyncContent>]
    private let states: [String: AsyncContent]
    private let outputViews: [String: AsyncContent]
    private let outputs: [String: Pending<AsyncContent>]
    /// Done, always with success, when the next work of the stream may start.
    let order = Pending<Void>()
    /// Done when the states and output views are written.
    let written = Pending<Void>()
    private let waitsFor: Atomic<Int>
    private let failure = Guarded<(any Error)?>(nil)

    init(
        executor: any FunctionExecutor, inputs: [String: Pending<AsyncContent>], states: [String: AsyncContent],
        outputViews: [String: AsyncContent], outputs: [String: Pending<AsyncContent>]
    ) {
        self.executor = executor
        self.inputs = inputs
        self.states = states
        self.outputViews = outputViews
        self.outputs = outputs
        waitsFor = Atomic(1)
    }

    func start(after previous: Pending<Void>, writes: [Pending<Void>], values: [Pending<AsyncContent>]) {
        waitsFor.add(1 + writes.count + values.count, ordering: .relaxed)
        previous.whenDone { _ in self.arrive(.success(())) }
        for write in writes { write.whenDone { self.arrive($0) } }
        for value in values { value.whenDone { self.arrive($0.map { _ in }) } }
        arrive(.success(()))
    }

    private func arrive(_ result: Result<Void, any Error>) {
        if case .failure(let error) = result { failure.withLock { $0 = $0 ?? error } }
        if waitsFor.subtract(1, ordering: .acquiringAndReleasing).newValue == 0 {
            RunThreads.shared.submit { self.execute() }
        }
    }

    private func execute() {
        let result = Result {
            if let error = failure.withLock(\.self) { throw error }
            let arguments = try executor.descriptor.arguments(
                inputs: try inputs.mapValues { try $0.result?.get().argument }.compactMapValues(\.self),
                states: states.mapValues(\.argument), outputViews: outputViews.mapValues(\.argument))
            return try executor.execute(arguments) { false }
        }
        switch result {
        case .success(let values):
            for (name, content) in values { outputs[name]?.finish(.success(AsyncContent(content))) }
            written.finish(.success(()))
        case .failure(let error):
            for output in outputs.values { output.finish(.failure(error)) }
            written.finish(.failure(error))
        }
        order.finish(.success(()))
    }
}

extension AsyncContent {
    fileprivate init(_ content: InferenceValue.Content) {
        switch content {
        case .ndArray(let array): self = .array(array)
        case .image(let pixels): self = .image(pixels)
        }
    }
}
