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
        let counter = Counter()
        await withTaskGroup(of: Void.self) { group in
            for _ in 0..<16 {
                group.addTask { for _ in 0..<50 { pool.parallel(10) { counter.add($0) } } }
            }
        }
        #expect(counter.value == 16 * 50 * 45)
    }

    @Test func aCallFromInsideTheWorkEnds() {
        let pool = WorkerPool(width: 2)
        let counter = Counter()
        pool.parallel(4) { _ in pool.parallel(4) { _ in counter.add(1) } }
        #expect(counter.value == 16)
    }
}

private final class Counter: Sendable {
    private let sum = Mutex(0)
    func add(_ number: Int) { sum.withLock { $0 += number } }
    var value: Int { sum.withLock { $0 } }
}
