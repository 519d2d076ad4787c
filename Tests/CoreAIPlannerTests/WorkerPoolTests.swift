import CoreAIGraph
import CoreAIBackend
import Foundation
import Synchronization
import Testing

@Suite struct WorkerPoolTests {
    @Test(arguments: [1, 2, 7]) func everyIndexIsVisitedOnce(width: Int) {
        let pool = WorkerPool(width: width)
        for count in [0, 1, 2, 3, 100, 1000] {
            let visits = Visits(count)
            pool.parallel(count) { visits.add($0) }
            #expect(visits.areOneEach, "\(count) indices")
        }
    }

    @Test func aFunctionWithAContextVisitsTheSame() {
        let pool = WorkerPool(width: 3)
        let visits = Visits(500)
        withExtendedLifetime(visits) {
            pool.parallel(500, context: Unmanaged.passUnretained(visits).toOpaque()) { context, index in
                Unmanaged<Visits>.fromOpaque(context).takeUnretainedValue().add(index)
            }
        }
        #expect(visits.areOneEach)
    }

    /// One call has the workers, the others compute alone: none waits, none takes another's index.
    @Test func callersFromManyThreadsDoNotDisturbEachOther() {
        let pool = WorkerPool(width: 3)
        let failures = Visits(1)
        onThreads(8) { caller in
            for round in 0..<400 {
                let visits = Visits(round % 40)
                pool.parallel(visits.count) { visits.add($0) }
                if !visits.areOneEach { failures.add(0) }
            }
        }
        #expect(failures.total == 0)
    }

    /// The worst for a worker that comes late: jobs of other sizes and other bodies, one right after the other.
    @Test func aLateWorkerTakesNoIndexOfTheNextJob() {
        let pool = WorkerPool(width: 4)
        for round in 0..<20_000 {
            let visits = Visits(2 + round % 5)
            pool.parallel(visits.count) { visits.add($0) }
            guard visits.areOneEach else {
                Issue.record("job \(round) visited \(visits.total) of \(visits.count)")
                return
            }
        }
    }

    @Test func aCallFromInsideTheWorkEnds() {
        let pool = WorkerPool(width: 2)
        let visits = Visits(64)
        pool.parallel(4) { a in pool.parallel(4) { b in pool.parallel(4) { visits.add(16 * a + 4 * b + $0) } } }
        #expect(visits.areOneEach)
    }

    /// Each index waits until all are under way, which takes as many threads as indices.
    @Test(.timeLimit(.minutes(1))) func workersTakePartAsSoonAsTheWidthAllows() {
        let pool = WorkerPool(width: 1)
        for width in [3, 2, 4] {
            pool.setWidth(width)
            let arrivals = Visits(1)
            pool.parallel(width) { _ in
                arrivals.add(0)
                while arrivals.total < width { sched_yield() }
            }
            #expect(arrivals.total == width)
        }
    }

    @Test func aWidthOfOneUsesNoWorker() {
        let pool = WorkerPool(width: 4)
        pool.parallel(100) { _ in }
        pool.setWidth(1)
        let caller = ThreadName()
        let strangers = Visits(1)
        for _ in 0..<100 { pool.parallel(16) { _ in if ThreadName() != caller { strangers.add(0) } } }
        #expect(strangers.total == 0)
    }

    @Test func theWidthMayChangeWhileJobsRun() {
        let pool = WorkerPool(width: 2)
        let failures = Visits(1)
        let isOver = Atomic<Bool>(false)
        onThreads(4) { caller in
            if caller == 0 {
                var width = 0
                while !isOver.load(ordering: .relaxed) {
                    width += 1
                    pool.setWidth(1 + width % 6)
                    sched_yield()
                }
                return
            }
            for _ in 0..<3000 {
                let visits = Visits(17)
                pool.parallel(17) { visits.add($0) }
                if !visits.areOneEach { failures.add(0) }
            }
            if caller == 1 { isOver.store(true, ordering: .relaxed) }
        }
        #expect(failures.total == 0)
    }

    /// While two runs are under way, two threads compute anyway: a pool of two has no worker for either.
    @Test func runsTakeThePlaceOfWorkers() {
        let pool = WorkerPool(width: 2)
        let strangers = Visits(1)
        pool.whileRunning {
            pool.whileRunning {
                let caller = ThreadName()
                for _ in 0..<100 { pool.parallel(16) { _ in if ThreadName() != caller { strangers.add(0) } } }
            }
        }
        #expect(strangers.total == 0)
    }

    /// Spinning would take all of the time looked at, sleeping takes none.
    @Test func workersWithoutWorkSleep() {
        let pool = WorkerPool(width: 3)
        let workers = Guarded<Set<pthread_t>>([])
        let arrivals = Visits(1)
        pool.parallel(3) { _ in
            _ = workers.withLock { $0.insert(pthread_self()) }
            arrivals.add(0)
            while arrivals.total < 3 { sched_yield() }
        }
        let own = pthread_self()
        func used() -> Int {
            workers.withLock { $0 }.filter { pthread_equal($0, own) == 0 }.reduce(0) { sum, thread in
                var clock = clockid_t()
                var time = timespec()
                pthread_getcpuclockid(thread, &clock)
                clock_gettime(clock, &time)
                return sum + time.tv_sec * 1_000_000_000 + time.tv_nsec
            }
        }
        usleep(50_000)
        let before = used()
        usleep(200_000)
        #expect(used() - before < 20_000_000)
    }
}

/// Counts visits by index.
private final class Visits: Sendable {
    private let visits: Guarded<[Int]>
    let count: Int
    init(_ count: Int) {
        self.count = count
        visits = Guarded(Array(repeating: 0, count: count))
    }
    func add(_ index: Int) { visits.withLock { $0[index] += 1 } }
    var areOneEach: Bool { visits.withLock { $0.allSatisfy { $0 == 1 } } }
    var total: Int { visits.withLock { $0.reduce(0, +) } }
}

/// Tells threads apart.
private struct ThreadName: Equatable, Sendable {
    private let thread = UInt(pthread_self())
}

/// Runs `body` on threads of its own, all at once, and returns when each is done.
private func onThreads(_ count: Int, _ body: @escaping @Sendable (Int) -> Void) {
    let group = DispatchGroup()
    for index in 0..<count {
        group.enter()
        Thread {
            body(index)
            group.leave()
        }.start()
    }
    group.wait()
}
