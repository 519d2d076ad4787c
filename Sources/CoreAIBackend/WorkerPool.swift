import Foundation
import Synchronization

/// The threads that CPU kernels share, one pool for the process.
///
/// As wide as the processors this process may use (affinity mask and cgroup quota), unless `COREAI_NUM_THREADS` or
/// `setWidth` says otherwise. Idle workers sleep.
package final class WorkerPool: Sendable {
    package static let shared = WorkerPool(width: defaultWidth())

    private struct State {
        var width: Int
        var threads = 0
        var jobs: [Job] = []
    }

    private final class Job: @unchecked Sendable {
        let count: Int
        let body: @Sendable (Int) -> Void
        private let next = Atomic<Int>(0)
        private let unfinished: Atomic<Int>
        private let done = DispatchSemaphore(value: 0)

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
                if unfinished.wrappingSubtract(1, ordering: .acquiringAndReleasing).newValue == 0 { done.signal() }
            }
        }

        func wait() { done.wait() }
    }

    private let state: Mutex<State>
    private let wake = NSCondition()

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
        for _ in 0..<missing {
            let thread = Thread { [self] in serve() }
            thread.name = "coreai-worker"
            thread.start()
        }
        wake.lock()
        wake.broadcast()
        wake.unlock()
        job.work()
        job.wait()
        state.withLock { state in state.jobs.removeAll { $0 === job } }
    }

    private func serve() {
        while true {
            wake.lock()
            var job = claim()
            while job == nil {
                wake.wait()
                job = claim()
            }
            wake.unlock()
            job?.work()
        }
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
