import CoreAIGraph
import Synchronization

/// Something that happens once. Work can be hung on it, tasks can await it.
final class Pending<Value: Sendable>: Sendable {
    private enum State: Sendable {
        case waiting([@Sendable (Result<Value, any Error>) -> Void])
        case done(Result<Value, any Error>)
    }
    private let state: Guarded<State>

    init() { state = Guarded(.waiting([])) }
    init(_ value: Value) { state = Guarded(.done(.success(value))) }

    func finish(_ result: Result<Value, any Error>) {
        let waiting = state.withLock { state -> [@Sendable (Result<Value, any Error>) -> Void] in
            guard case .waiting(let waiting) = state else { fatalError("finished twice") }
            state = .done(result)
            return waiting
        }
        for body in waiting { body(result) }
    }

    /// Calls `body` on the thread that finishes this, or right now if it is done.
    func whenDone(_ body: @escaping @Sendable (Result<Value, any Error>) -> Void) {
        let result = state.withLock { state -> Result<Value, any Error>? in
            switch state {
            case .done(let result): return result
            case .waiting(var waiting):
                waiting.append(body)
                state = .waiting(waiting)
                return nil
            }
        }
        if let result { body(result) }
    }

    /// Nil while it is not done.
    var result: Result<Value, any Error>? {
        state.withLock { if case .done(let result) = $0 { result } else { nil } }
    }

    var value: Value {
        get async throws {
            // The lock hands the result over, not the continuation, whose ways the thread sanitizer does not know.
            while true {
                if let result { return try result.get() }
                await withUnsafeContinuation { continuation in whenDone { _ in continuation.resume() } }
            }
        }
    }
}
