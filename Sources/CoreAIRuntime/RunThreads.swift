import CoreAIBackend
import Foundation
import Glibc

/// Threads of our own for runs, so that computing never blocks Swift's cooperative pool.
///
/// As many jobs run at once as the worker pool is wide: each computes, and more would only take processors and memory from
/// one another. Further work waits in line. Threads are made on demand and kept.
final class RunThreads: @unchecked Sendable {
    static let shared = RunThreads(pool: .shared)

    typealias Job = @Sendable () -> Void

    private let pool: WorkerPool
    private let mutex = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
    private let condition = UnsafeMutablePointer<pthread_cond_t>.allocate(capacity: 1)
    // All under the mutex.
    private var line: [Job] = []
    private var first = 0
    private var running = 0
    /// Threads, and those of them that wait for work.
    private var count = 0
    private var idle = 0

    /// Threads live as long as the process, and so does this object.
    init(pool: WorkerPool) {
        self.pool = pool
        pthread_mutex_init(mutex, nil)
        pthread_cond_init(condition, nil)
    }

    /// Runs `job` on one of the threads, in the order of calls.
    func submit(_ job: @escaping Job) {
        pthread_mutex_lock(mutex)
        line.append(job)
        pthread_mutex_unlock(mutex)
        offer()
    }

    /// Finds a thread for what waits in line, if one more may run.
    private func offer() {
        pthread_mutex_lock(mutex)
        let mayRun = running < pool.width && first < line.count
        // A thread that sleeps counts as idle until it wakes: more may wait in line than such threads can take.
        let needsThread = mayRun && idle < line.count - first && count < pool.width
        if needsThread { count += 1 }
        pthread_mutex_unlock(mutex)
        if needsThread {
            if makeThread() { return }
            pthread_mutex_lock(mutex)
            count -= 1
            let isAlone = count == 0
            pthread_mutex_unlock(mutex)
            demand(!isAlone, "CoreAI: the system refuses to make a thread")
        }
        // Who is at work looks at the line before it sleeps.
        if mayRun { pthread_cond_signal(condition) }
    }

    /// Runs `job` here and now if one more may run and none waits, else answers nil. For jobs not much longer than the way
    /// to another thread and back.
    func runHere<Result>(_ job: () -> Result) -> Result? {
        pthread_mutex_lock(mutex)
        let mayRun = running < pool.width && first == line.count
        if mayRun { running += 1 }
        pthread_mutex_unlock(mutex)
        guard mayRun else { return nil }
        defer {
            pthread_mutex_lock(mutex)
            running -= 1
            let isWaitedFor = first < line.count
            pthread_mutex_unlock(mutex)
            if isWaitedFor { offer() }
        }
        return pool.whileRunning(job)
    }

    private func makeThread() -> Bool {
        var thread = pthread_t()
        var attributes = pthread_attr_t()
        pthread_attr_init(&attributes)
        defer { pthread_attr_destroy(&attributes) }
        pthread_attr_setstacksize(&attributes, 8 << 20)
        pthread_attr_setdetachstate(&attributes, Int32(PTHREAD_CREATE_DETACHED))
        let threads = Unmanaged.passRetained(self)
        let status = pthread_create(
            &thread, &attributes,
            { context in
                guard let context else { return nil }
                Unmanaged<RunThreads>.fromOpaque(context).takeRetainedValue().work()
            }, threads.toOpaque())
        if status != 0 { threads.release() }
        return status == 0
    }

    private func work() -> Never {
        while true { runNext() }
    }

    /// Runs the next job, once there is one and one more may run.
    ///
    /// A function of its own: in a loop without end the compiler would not release the job.
    @inline(never) private func runNext() {
        pthread_mutex_lock(mutex)
        idle += 1
        while first == line.count || running >= pool.width { pthread_cond_wait(condition, mutex) }
        idle -= 1
        running += 1
        let job = line[first]
        line[first] = {}
        first += 1
        // Under steady load the line is never empty: what is done must not pile up in front.
        if first == line.count || first >= 64 && 2 * first >= line.count {
            line.removeFirst(first)
            first = 0
        }
        pthread_mutex_unlock(mutex)
        pool.whileRunning(job)
        pthread_mutex_lock(mutex)
        running -= 1
        pthread_mutex_unlock(mutex)
    }
}
