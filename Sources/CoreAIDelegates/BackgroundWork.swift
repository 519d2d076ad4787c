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
    return try await withTaskCancellationHandler {
        try await withCheckedThrowingContinuation { continuation in
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
}

/// A continuation that is resumed once, by whoever comes first, even before it is there.
private final class Promise<Value: Sendable>: Sendable {
    private enum State {
        case waiting(CheckedContinuation<Value, any Error>?)
        case finished(Swift.Result<Value, any Error>)
    }
    private let state = Guarded(State.waiting(nil))

    var isFinished: Bool {
        state.withLock { if case .finished = $0 { true } else { false } }
    }

    func start(_ continuation: CheckedContinuation<Value, any Error>) {
        let early: Swift.Result<Value, any Error>? = state.withLock { state in
            if case .finished(let result) = state { return result }
            state = .waiting(continuation)
            return nil
        }
        if let early { continuation.resume(with: early) }
    }

    func finish(_ result: Swift.Result<Value, any Error>) {
        let continuation: CheckedContinuation<Value, any Error>? = state.withLock { state in
            guard case .waiting(let continuation) = state else { return nil }
            state = .finished(result)
            return continuation
        }
        continuation?.resume(with: result)
    }
}
