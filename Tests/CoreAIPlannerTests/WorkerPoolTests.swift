import CoreAIBackend
import Synchronization
import Testing

@Suite struct WorkerPoolTests {
    @Test(arguments: [1, 2, 7]) func everyIndexIsVisitedOnce(width: Int) {
        let pool = WorkerPool(width: width)
        for count in [0, 1, 2, 3, 100, 1000] {
            let visits = Mutex([Int](repeating: 0, count: count))
            pool.parallel(count) { index in visits.withLock { $0[index] += 1 } }
            #expect(visits.withLock { $0 } == [Int](repeating: 1, count: count))
        }
    }

    @Test func callersFromManyTasksShareThePool() async {
        let pool = WorkerPool(width: 3)
        let sum = Atomic(0)
        await withTaskGroup(of: Void.self) { group in
            for _ in 0..<16 {
                group.addTask { for _ in 0..<50 { pool.parallel(10) { sum.wrappingAdd($0, ordering: .relaxed) } } }
            }
        }
        #expect(sum.load(ordering: .relaxed) == 16 * 50 * 45)
    }

    @Test func aCallFromInsideTheWorkEnds() {
        let pool = WorkerPool(width: 2)
        let sum = Atomic(0)
        pool.parallel(4) { _ in pool.parallel(4) { _ in sum.wrappingAdd(1, ordering: .relaxed) } }
        #expect(sum.load(ordering: .relaxed) == 16)
    }
}
