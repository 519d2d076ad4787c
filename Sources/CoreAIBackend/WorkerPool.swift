import Foundation
import Synchronization

/// The threads that CPU kernels share, one pool for the process.
///
/// As wide as the processors this process may use (affinity mask and cgroup quota), unless `COREAI_NUM_THREADS` or
/// `setWidth` says otherwise. A worker whose job is done waits
/// for the next with open eyes for about a tenth of a millisecond, then sleeps.
package final class WorkerPool: Sendable {
    package static let shared = WorkerPool(width: defaultWidth())

    private struct State {
        var width: Int
        var threads = 0
        var jobs: [Job] = []
    }

    private final class Job: Sendable {
        let count: Int
        let body: @Sendable (Int) -> Void
        private let next = Atomic<Int>(0)
        private let unfinished: Atomic<Int>

        init(count: Int, body: @escaping @Sendable (Int) -> Void) {
            self.count = count
            self.body = body
            unfinished = Atomic(count)
        }

        var isExhausted: Bool { next.load(ordering: .relaxed) >= count }

        func work() {
            while true {
                let index = next.wrappingAdd(1, ordering: .relaxed).oldValue
                guard index < count else { return }
                body(index)
                unfinished.wrappingSubtract(1, ordering: .releasing)
            }
        }

        /// What is unfinished is under way on a thread that runs: giving way until it is done costs less than sleeping.
        func wait() {
            while unfinished.load(ordering: .acquiring) != 0 { sched_yield() }
        }
    }

    private let state: Mutex<State>
    /// Counts the jobs offered, so that a worker sees a new one without a lock.
    private let offers = Atomic<Int>(0)
    private let sleepers = Atomic<Int>(0)
    private let wake = NSCondition()

    /// How often a worker without work gives way before it sleeps: about as long as the pause between two kernels of a run.
    private static let patience = 400

    package init(width: Int) { state = Mutex(State(width: max(1, width))) }

    package var width: Int { state.withLock { $0.width } }

    /// An explicit choice of the caller; wins over the environment.
    package func setWidth(_ width: Int) { state.withLock { $0.width = max(1, width) } }

    /// Calls `body` once for each index below `count`, on this thread and the pool's, and returns when all are done.
    package func parallel(_ count: Int, _ body: @escaping @Sendable (Int) -> Void) {
        let width = self.width
        guard count > 1, width > 1 else {
            for index in 0..<count { body(index) }
            return
        }
        let job = Job(count: count, body: body)
        let missing = state.withLock { state in
            state.jobs.append(job)
            let missing = max(0, state.width - 1 - state.threads)
            state.threads += missing
            return missing
        }
        // The offer comes before the look at the sleepers, and a worker counts itself a sleeper before its last look at the
        // offers: one of them sees the other.
        offers.wrappingAdd(1, ordering: .sequentiallyConsistent)
        for _ in 0..<missing {
            let thread = Thread { [self] in serve() }
            thread.name = "coreai-worker"
            thread.start()
        }
        if sleepers.load(ordering: .sequentiallyConsistent) > 0 {
            wake.lock()
            wake.broadcast()
            wake.unlock()
        }
        job.work()
        job.wait()
        state.withLock { state in state.jobs.removeAll { $0 === job } }
    }

    private func serve() {
        while true {
            let seen = offers.load(ordering: .sequentiallyConsistent)
            if let job = claim() {
                job.work()
                continue
            }
            var turns = 0
            while offers.load(ordering: .relaxed) == seen, turns < Self.patience {
                sched_yield()
                turns += 1
            }
            if turns == Self.patience { sleep(until: seen) }
        }
    }

    /// Returns when something was offered after `seen`.
    private func sleep(until seen: Int) {
        wake.lock()
        sleepers.wrappingAdd(1, ordering: .sequentiallyConsistent)
        while offers.load(ordering: .sequentiallyConsistent) == seen { wake.wait() }
        sleepers.wrappingSubtract(1, ordering: .sequentiallyConsistent)
        wake.unlock()
    }

    private func claim() -> Job? {
        state.withLock { state in
            state.jobs.removeAll(where: \.isExhausted)
            return state.jobs.first
        }
    }

    /// Processors this process may use, at least 1.
    private static func defaultWidth() -> Int {
        if let text = ProcessInfo.processInfo.environment["COREAI_NUM_THREADS"], let width = Int(text), width > 0 {
            return width
        }
        // Foundation counts the processors of the affinity mask.
        var width = ProcessInfo.processInfo.activeProcessorCount
        if let quota = cgroupQuota() { width = min(width, quota) }
        return max(1, width)
    }

    /// Whole processors the cgroup (version 2) allows, rounded up.
    private static func cgroupQuota() -> Int? {
        guard let text = try? String(contentsOfFile: "/sys/fs/cgroup/cpu.max", encoding: .utf8) else { return nil }
        let parts = text.split(whereSeparator: \.isWhitespace).compactMap { Double($0) }
        guard parts.count == 2, parts[1] > 0 else { return nil }
        return max(1, Int((parts[0] / parts[1]).rounded(.up)))
    }
}
