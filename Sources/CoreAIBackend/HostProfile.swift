import CoreAIGraph
import Synchronization

/// How long each kernel call of the host backends took, summed over runs while it is on.
package final class HostProfile: Sendable {
    package static let shared = HostProfile()

    package struct Entry: Sendable {
        /// What was called, as `HostStep.name` has it.
        package var name: String
        /// The shape of its first result.
        package var shape: [Int]
        package var calls = 0
        package var nanoseconds: UInt64 = 0
    }

    private struct Key: Hashable {
        var name: String
        var shape: [Int]
    }

    private let isOn = Atomic<Bool>(false)
    private let entries = Guarded<[Key: Entry]>([:])

    /// Forgets what was measured and starts anew.
    package func start() {
        entries.withLock { $0 = [:] }
        isOn.store(true, ordering: .relaxed)
    }

    /// Stops and answers what was measured, the longest first.
    package func stop() -> [Entry] {
        isOn.store(false, ordering: .relaxed)
        return entries.withLock { entries in
            entries.values.sorted { ($1.nanoseconds, $0.name) < ($0.nanoseconds, $1.name) }
        }
    }

    var isRunning: Bool { isOn.load(ordering: .relaxed) }

    func add(_ name: String, _ shape: [Int], _ duration: Duration) {
        let (seconds, attoseconds) = duration.components
        entries.withLock { entries in
            let key = Key(name: name, shape: shape)
            entries[key, default: Entry(name: name, shape: shape)].calls += 1
            entries[key]?.nanoseconds += UInt64(seconds) * 1_000_000_000 + UInt64(attoseconds / 1_000_000_000)
        }
    }
}
