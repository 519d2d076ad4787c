import CKernels
import Glibc
import Synchronization

/// The threads that CPU kernels share, one pool for the process.
///
/// Goals, in order: never deadlock and never wait for a thread that has no part of the work; microseconds from hand-off to
/// work while a run is under way; no processor time when there is none.
///
/// One job at a time has the workers. Its indices are handed out from one word, together with the number of the job, so
/// that a worker that comes late cannot take an index of the next. Who finds the pool taken, from another run or from
/// inside a job, computes alone. A worker without work spins for some microseconds, as long as that was rewarded lately,
/// then sleeps.
package final class WorkerPool: @unchecked Sendable {
    /// As wide as `ProcessorCount.current()`, unless `setWidth` says otherwise.
    package static let shared = WorkerPool(width: ProcessorCount.current())
    package static let widthLimit = 512

    package typealias Body = @convention(c) (_ context: UnsafeRawPointer, _ index: Int) -> Void

    private let threads: Atomic<Int>
    /// Runs under way on threads of their own, each of which computes.
    private let runs = Atomic<Int>(0)
    private let seats: UnsafeMutablePointer<Seat>
    /// Workers that exist. Written by the owner of the job.
    private let started = Atomic<Int>(0)

    private let isTaken = Atomic<Bool>(false)
    /// The number of the job in the upper half, the next index in the lower one. The index is `closed` while the other
    /// fields change.
    private let ticket = Atomic<UInt64>(closed)
    private let count = Atomic<Int>(0)
    private let step = Atomic<Int>(1)
    private let helpers = Atomic<Int>(0)
    private let body = Atomic<UInt>(0)
    private let context = Atomic<UInt>(0)
    private let callerProcessor = Atomic<Int32>(-1)
    private let unfinished = Atomic<Int>(0)

    private static let closed: UInt64 = 0xffff_ffff

    /// Where a worker sleeps.
    private struct Seat: ~Copyable {
        /// 1 while the worker sleeps or is about to. The only field, so that the address of a seat is the address of this.
        let isAsleep = Atomic<UInt32>(0)
    }

    package init(width: Int) {
        threads = Atomic(Self.clamped(width))
        seats = .allocate(capacity: Self.widthLimit)
        for index in 0..<Self.widthLimit { (seats + index).initialize(to: Seat()) }
    }

    /// The threads that compute at most, the caller's included.
    package var width: Int { threads.load(ordering: .relaxed) }

    /// An explicit choice of the caller; wins over the environment. Holds for the jobs that begin afterwards; surplus
    /// workers sleep.
    package func setWidth(_ width: Int) { threads.store(Self.clamped(width), ordering: .relaxed) }

    private static func clamped(_ width: Int) -> Int { min(max(1, width), widthLimit) }

    /// Around a run: while several are under way, each thread of theirs takes the place of a worker, so that no more than
    /// `width` threads compute. Workers wait longer between two jobs of a run than after it.
    package func whileRunning<Result>(_ body: () -> Result) -> Result {
        runs.add(1, ordering: .relaxed)
        defer { runs.subtract(1, ordering: .relaxed) }
        return body()
    }

    // MARK: Callers

    /// Calls `body` once for each index below `count`, on this thread and the pool's, and returns when all are done.
    ///
    /// Sharing costs one small allocation, for the closure; `parallel(_:nanoseconds:context:_:)` costs none.
    /// - Parameter nanoseconds: about how long it takes on one thread, if known. Sleeping workers are not woken for what
    ///   is over before they come.
    package func parallel(_ count: Int, nanoseconds: Int = .max, _ body: (Int) -> Void) {
        guard helpers(for: count) > 0 else {
            for index in 0..<max(0, count) { body(index) }
            return
        }
        withoutActuallyEscaping(body) { body in
            withUnsafePointer(to: body) { pointer in
                parallel(count, nanoseconds: nanoseconds, context: pointer) { context, index in
                    context.assumingMemoryBound(to: ((Int) -> Void).self).pointee(index)
                }
            }
        }
    }

    /// The same with a function and what it works on, which is valid during the call.
    package func parallel(
        _ count: Int, nanoseconds: Int = .max, context: UnsafeRawPointer, _ body: Body
    ) {
        let wanted = helpers(for: count)
        guard wanted > 0, take() else {
            for index in 0..<max(0, count) { body(context, index) }
            return
        }
        defer { isTaken.store(false, ordering: .releasing) }
        let helpers = startWorkers(wanted)
        // Releasing keeps these behind the last job's end: who sees one of them cannot take an index of that job.
        self.count.store(count, ordering: .releasing)
        step.store(max(1, count / (Self.partsPerThread * (helpers + 1))), ordering: .releasing)
        self.helpers.store(helpers, ordering: .releasing)
        self.body.store(unsafeBitCast(body, to: UInt.self), ordering: .releasing)
        self.context.store(UInt(bitPattern: context), ordering: .releasing)
        callerProcessor.store(coreai_current_processor(), ordering: .releasing)
        unfinished.store(count, ordering: .releasing)
        let number = (ticket.load(ordering: .relaxed) >> 32) &+ 1
        // A worker says that it sleeps before its last look at the ticket; here it is the other way round.
        ticket.store(number << 32, ordering: .sequentiallyConsistent)
        if nanoseconds >= Self.worthWaking {
            wake(0, of: helpers)
            wake(1, of: helpers)
        }
        work()
        waitForOthers()
        ticket.store(number << 32 | Self.closed, ordering: .releasing)
    }

    /// Fewer parts leave a tail when a worker loses its processor, more cost more handing out.
    private static let partsPerThread = 8
    private static let worthWaking = 20_000

    private func helpers(for count: Int) -> Int {
        guard count > 1, count < Int(Self.closed) else { return 0 }
        return min(count - 1, width - max(1, runs.load(ordering: .relaxed)))
    }

    private func take() -> Bool {
        !isTaken.load(ordering: .relaxed)
            && isTaken.compareExchange(expected: false, desired: true, ordering: .acquiring).exchanged
    }

    /// Takes indices of the job until none is left.
    private func work() {
        var done = 0
        while true {
            let now = ticket.load(ordering: .acquiring)
            let index = Int(now & Self.closed)
            let count = count.load(ordering: .acquiring)
            guard index < count else { break }
            let end = min(index + step.load(ordering: .acquiring), count)
            guard
                ticket.weakCompareExchange(
                    expected: now, desired: now + UInt64(end - index), ordering: .acquiringAndReleasing
                ).exchanged
            else { continue }
            // From here on the job cannot end, and its fields stay.
            let body = unsafeBitCast(body.load(ordering: .acquiring), to: Body.self)
            guard let context = UnsafeRawPointer(bitPattern: context.load(ordering: .acquiring)) else { break }
            for index in index..<end { body(context, index) }
            done += end - index
        }
        if done > 0 { unfinished.subtract(done, ordering: .releasing) }
    }

    /// What is unfinished is under way: spins for about one part's time, then gives way.
    private func waitForOthers() {
        var turns = 0
        while unfinished.load(ordering: .acquiring) != 0 {
            if turns < 2000 {
                coreai_spin_hint()
                turns += 1
            } else {
                sched_yield()
            }
        }
    }

    // MARK: Workers

    /// Makes workers up to the number wanted; returns how many of the wanted there are. Called by the owner of the job.
    private func startWorkers(_ wanted: Int) -> Int {
        var existing = started.load(ordering: .relaxed)
        while existing < wanted, startWorker(existing) { existing += 1 }
        return min(existing, wanted)
    }

    private func startWorker(_ number: Int) -> Bool {
        final class Start {
            let pool: WorkerPool
            let number: Int
            init(_ pool: WorkerPool, _ number: Int) {
                self.pool = pool
                self.number = number
            }
        }
        let start = Unmanaged.passRetained(Start(self, number))
        var thread = pthread_t()
        let status = pthread_create(
            &thread, nil,
            { argument in
                guard let argument else { return nil }
                let start = Unmanaged<Start>.fromOpaque(argument).takeRetainedValue()
                start.pool.serve(start.number)
            }, start.toOpaque())
        guard status == 0 else {
            start.release()
            return false
        }
        pthread_detach(thread)
        started.store(number + 1, ordering: .relaxed)
        return true
    }

    /// How long a worker spins after a job, at least and at most; in a run it spins four times as long.
    private static let patience: ClosedRange<UInt64> = 2_000...50_000

    private func serve(_ number: Int) -> Never {
        coreai_name_thread("coreai-worker")
        var seen = UInt64.max
        var patience = Self.patience.upperBound
        var idleSince = coreai_monotonic_ns()
        while true {
            guard let job = waitForJob(after: seen, number, patience) else {
                sleep(number, after: seen)
                // What matters is whether spinning on would have been rewarded: if not, it only takes time from others.
                let wouldWait = budget(Self.patience.upperBound)
                let isSoon = coreai_monotonic_ns() - idleSince < wouldWait
                patience = isSoon ? Self.patience.upperBound : max(Self.patience.lowerBound, patience / 2)
                continue
            }
            seen = job
            let helpers = helpers.load(ordering: .acquiring)
            guard number < helpers else { continue }
            wake(2 * number + 2, of: helpers)
            wake(2 * number + 3, of: helpers)
            // The system likes to wake a thread where its waker runs, where it would only take the caller's time. Kept off
            // for good it would lose more, on a machine that others use too.
            if coreai_current_processor() == callerProcessor.load(ordering: .acquiring) {
                coreai_leave_processor(coreai_current_processor())
            }
            work()
            idleSince = coreai_monotonic_ns()
        }
    }

    /// Between two jobs of a run the next is sure to come.
    private func budget(_ patience: UInt64) -> UInt64 {
        runs.load(ordering: .relaxed) > 0 ? 4 * patience : patience
    }

    /// The number of a job other than `seen`, or nil if none comes in time or waiting here is in somebody's way.
    private func waitForJob(after seen: UInt64, _ number: Int, _ patience: UInt64) -> UInt64? {
        let start = coreai_monotonic_ns()
        while true {
            for _ in 0..<64 {
                if let job = news(after: seen) { return job }
                coreai_spin_hint()
            }
            if coreai_monotonic_ns() - start >= budget(patience) { return nil }
            if number >= width - 1 { return nil }
            // Here it would only keep the caller from working.
            if coreai_current_processor() == callerProcessor.load(ordering: .relaxed) { return nil }
        }
    }

    private func news(after seen: UInt64) -> UInt64? {
        let now = ticket.load(ordering: .sequentiallyConsistent)
        return now >> 32 != seen && now & Self.closed != Self.closed ? now >> 32 : nil
    }

    private func sleep(_ number: Int, after seen: UInt64) {
        let seat = seats + number
        seat.pointee.isAsleep.store(1, ordering: .sequentiallyConsistent)
        if news(after: seen) != nil {
            seat.pointee.isAsleep.store(0, ordering: .relaxed)
            return
        }
        while seat.pointee.isAsleep.load(ordering: .acquiring) == 1 { coreai_futex_wait(seat, 1) }
    }

    /// Wakes a worker if it sleeps and takes part. Each worker that comes wakes two
    /// more, so that a wide pool is not woken by one thread alone.
    private func wake(_ number: Int, of helpers: Int) {
        guard number < helpers else { return }
        let seat = seats + number
        guard seat.pointee.isAsleep.load(ordering: .sequentiallyConsistent) == 1,
            seat.pointee.isAsleep.compareExchange(expected: 1, desired: 0, ordering: .acquiringAndReleasing).exchanged
        else { return }
        coreai_futex_wake(seat, 1)
    }
}
