import Foundation
import Testing

/// What a process takes in the long run, each time in a process of its own. By hand, with larger numbers:
/// `.build/release/EnduranceWorker crowd MODEL 64 1000 5`, `… cycles MODEL 300`.
@Suite struct EnduranceTests {
    /// After the first wave every context, thread and buffer is there that is ever needed.
    @Test(.timeLimit(.minutes(5)), arguments: ["ops/unary_f32", "models/clip_tiny", "models/silero_vad"])
    func aCrowdOfTasksGetsEqualResultsInTheMemoryOfTheFirst(model: String) throws {
        let waves = try Worker.lines(
            "crowd", Worker.model(model), "64", "50", "3", environment: ["COREAI_NUM_THREADS": "2"])
        #expect(waves.count == 3)
        #expect(waves.allSatisfy { $0.wrong == 0 })
        let growth = try #require(waves.last).kibibytes - waves[0].kibibytes
        #expect(growth < Worker.slack, "\(waves.map(\.kibibytes))")
    }

    /// Kibibytes in 40 cycles or more.
    private static let slackOfCycles = 1024

    @Test(
        .timeLimit(.minutes(5)), arguments: ["ops/unary_f32", "ops/while_loop", "models/ppocr_cls", "models/bert_tiny"])
    func loadingRunningAndDroppingLeavesNothing(model: String) throws {
        let cycles = try Worker.lines("cycles", Worker.model(model), "80")
        #expect(cycles.count == 80)
        #expect(cycles.allSatisfy { $0.wrong == 0 })
        guard cycles.count == 80 else { return }
        // A leak grows with each cycle; what an allocator keeps back does not.
        let (early, late) = (cycles[4..<20].map(\.kibibytes).max() ?? 0, cycles[60...].map(\.kibibytes).min() ?? 0)
        #expect(late - early < Self.slackOfCycles, "\(cycles.map(\.kibibytes))")
    }
}

/// UC-16, as far as numbers of threads go.
@Suite struct ThreadTests {
    /// The processors of the affinity mask by default; the variable wins over the mask, an explicit number over both.
    @Test func theMaskTheVariableAndTheProgramSetTheNumberOfThreads() throws {
        let processors = Worker.processors()
        #expect(try (1...max(1, processors.count)).contains(Worker.threads()))
        for count in 1...max(1, min(2, processors.count)) {
            let mask = processors[..<count].map(String.init).joined(separator: ",")
            #expect(try Worker.threads(mask: mask) == count, "processors \(mask)")
            #expect(try Worker.threads(mask: mask, environment: ["COREAI_NUM_THREADS": "3"]) == 3)
            #expect(try Worker.threads("1", mask: mask, environment: ["COREAI_NUM_THREADS": "3"]) == 1)
            #expect(try Worker.threads("5", mask: mask) == 5)
        }
    }
}
