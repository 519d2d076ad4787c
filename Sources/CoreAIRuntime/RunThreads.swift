import CoreAIBackend
import Foundation
import Glibc

/// Threads of our own for runs, so that computing never blocks Swift's cooperative pool.
///
/// They are made on demand, up to twice the width of the worker pool, and kept; further work waits in line.
final class RunThreads: @unchecked Sendable {
    static let shared = RunThreads(limit: 2 * WorkerPool.shared.width)

    typealias Job = @Sendable () -> Void

    private let limit: Int
    private let mutex = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
    private let condition = UnsafeMutablePointer<pthread_cond_t>.allocate(capacity: 1)
    // All under the mutex.
    private var line: [Job] = []
    private var first = 0
    private var idle = 0
    private var count = 0

    /// Threads live as long as the process, and so does this object.
    init(limit: Int) {
        self.limit = max(limit, 1)
        pthread_mutex_init(mutex, nil)
        pthread_cond_init(condition, nil)
    }

    /// Runs `job` on one of the threads, in the order of calls.
    func submit(_ job: @escaping Job) {
        pthread_mutex_lock(mutex)
        line.append(job)
        let needsThread = line.count - first > idle && count < limit
        if needsThread { count += 1 }
        pthread_mutex_unlock(mutex)
        if !needsThread {
            pthread_cond_signal(condition)
        } else if !makeThread() {
            pthread_mutex_lock(mutex)
            count -= 1
            let isAlone = count == 0
            pthread_mutex_unlock(mutex)
            demand(!isAlone, "CoreAI: the system refuses to make a thread")
            pthread_cond_signal(condition)
        }
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
        while true {
            pthread_mutex_lock(mutex)
            idle += 1
            while first == line.count { pthread_cond_wait(condition, mutex) }
            idle -= 1
            let job = line[first]
            line[first] = {}
            first += 1
            if first == line.count {
                line.removeAll(keepingCapacity: true)
                first = 0
            }
            pthread_mutex_unlock(mutex)
            job()
        }
    }
}
