import CoreAIGraph
import Foundation
import Synchronization

/// Runs long blocking work on a thread of its own, so that no task's thread waits for it.
///
/// A cancelled caller leaves at once with `CancellationError`; the work ends at its next look at `isCancelled`.
func onOwnThread<Result: Sendable>(
    _ name: String, _ work: @escaping @Sendable (_ isCancelled: @escaping @Sendable () -> Bool) throws -> Result
) async throws -> Result {
    let promise = Promise<Result>()
    await withTaskCancellationHandler {
        await withCheckedContinuation { continuation in
            promise.start(continuation)
            let thread = Thread {
                promise.finish(Swift.Result { try work { promise.isFinished } })
            }
            thread.name = name
            thread.stackSize = 8 << 20
            thread.start()
        }
    } onCancel: {
        promise.finish(.failure(CancellationError()))
    }
    return try promise.value()
}

/// A result that comes once, from whoever comes first, and a continuation that is resumed then.
///
/// The lock hands the result over, not the continuation, whose ways the thread sanitizer does not know.
private final class Promise<Value: Sendable>: Sendable {
    private enum State {
        case waiting(CheckedContinuation<Void, Never>?)
        case finished(Swift.Result<Value, any Error>)
    }
    private let state = Guarded(State.waiting(nil))

    var isFinished: Bool {
        state.withLock { if case .finished = $0 { true } else { false } }
    }

    /// The result, once the continuation has been resumed.
    func value() throws -> Value {
        let result: Swift.Result<Value, any Error>? = state.withLock { state in
            if case .finished(let result) = state { result } else { nil }
        }
        guard let result else { preconditionFailure("a promise is read before it is kept") }
        return try result.get()
    }

    func start(_ continuation: CheckedContinuation<Void, Never>) {
        let isEarly = state.withLock { state in
            if case .finished = state { return true }
            state = .waiting(continuation)
            return false
        }
        if isEarly { continuation.resume() }
    }

    func finish(_ result: Swift.Result<Value, any Error>) {
        let continuation: CheckedContinuation<Void, Never>? = state.withLock { state in
            guard case .waiting(let continuation) = state else { return nil }
            state = .finished(result)
            return continuation
        }
        continuation?.resume()
    }
}
