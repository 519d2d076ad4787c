import Foundation
import Testing

/// Graphs from fixed seeds give the same on the processor's backend as on the reference. More seeds by
/// `COREAI_LOWERING_SEEDS=FIRST:COUNT`.
@Suite struct DifferentialTests {
    struct Setting: Sendable, CustomStringConvertible {
        var name: String
        var first: Int
        var environment: [String: String]
        var description: String { name }
    }

    static let settings = [
        Setting(name: "as it comes", first: 0, environment: [:]),
        Setting(
            name: "five threads, avx2", first: 1000,
            environment: ["COREAI_NUM_THREADS": "5", "COREAI_CPU_LEVEL": "avx2"]),
        Setting(
            name: "one thread, plain", first: 2000,
            environment: ["COREAI_NUM_THREADS": "1", "COREAI_CPU_LEVEL": "plain"]),
        Setting(name: "unfused", first: 3000, environment: ["COREAI_CPU_FUSION": "0"]),
    ]

    @Test(.timeLimit(.minutes(30)), arguments: settings) func graphsAgreeWithTheReference(_ setting: Setting) throws {
        let given = ProcessInfo.processInfo.environment["COREAI_LOWERING_SEEDS"]?.split(separator: ":").compactMap {
            Int($0)
        }
        let (first, count) = given?.count == 2 ? (given![0], given![1]) : (setting.first, 150)
        let worker = Process()
        worker.executableURL = try Self.worker()
        worker.arguments = [String(first), String(count)]
        worker.environment = ProcessInfo.processInfo.environment.merging(setting.environment) { $1 }
        let pipe = Pipe()
        worker.standardOutput = pipe
        try worker.run()
        let output = String(decoding: pipe.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        worker.waitUntilExit()
        let lines = output.split(separator: "\n")
        #expect(
            worker.terminationReason == .exit && worker.terminationStatus == 0,
            "ended by \(worker.terminationStatus) after \(lines.last { $0.hasPrefix("seed") } ?? "nothing")")
        for line in lines where line.hasPrefix("fault:") { Issue.record("\(line)") }
        // Graphs that come to nothing compare nothing.
        let operations = lines.last?.split(separator: " ").dropFirst().first.flatMap { Int($0) } ?? 0
        #expect(operations > count * 4, "only \(operations) ops in \(count) graphs")
    }

    /// The worker lies beside the tests.
    private static func worker() throws -> URL {
        let tests = try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
        return URL(fileURLWithPath: tests).deletingLastPathComponent().appendingPathComponent("LoweringFuzzWorker")
    }
}
