import CoreAIBackend
import CoreAIGraph

/// The packed weights of a step, there once its packing is done.
final class PackedWeights: @unchecked Sendable {
    /// Written by one packing job, before the first run.
    fileprivate(set) var buffers: [FloatBuffer] = []
}

/// Packs the weights of a segment's steps, all steps at once over the pool.
final class PackingJobs {
    private struct Job {
        let packed: PackedWeights
        let pack: () throws(BackendError) -> [FloatBuffer]
    }
    private var jobs: [Job] = []

    /// - Parameter pack: answers the buffers; the weights it reads stay where they are until `finish` is done.
    func add(_ pack: @escaping () throws(BackendError) -> [FloatBuffer]) -> PackedWeights {
        let packed = PackedWeights()
        jobs.append(Job(packed: packed, pack: pack))
        return packed
    }

    /// - Throws: what the first job that failed threw.
    func finish() throws(BackendError) {
        let failures = Guarded<[Int: BackendError]>([:])
        let jobs = jobs
        inParts(jobs.count) { index in
            do throws(BackendError) {
                jobs[index].packed.buffers = try jobs[index].pack()
            } catch {
                failures.withLock { $0[index] = error }
            }
        }
        self.jobs = []
        if let first = failures.withLock({ $0.min { $0.key < $1.key } }) { throw first.value }
    }
}
