import Foundation
import Testing

/// Damaged programs are answered, at load and by a run of what still loads: no trap, no hang, no more than 64 MB, a result
/// or an error that names the file. Other seeds by `COREAI_ASSET_SEEDS=FIRST:COUNT`.
@Suite struct MutationTests {
    /// First seed and number of variants.
    static let seeds: (first: Int, count: Int) = {
        let given = ProcessInfo.processInfo.environment["COREAI_ASSET_SEEDS"]?.split(separator: ":").compactMap {
            Int($0)
        }
        if let given, given.count == 2 { return (given[0], given[1]) }
        return (0, 10_000)
    }()
    static let parts = 2

    /// Parts run beside each other, each in a process of its own.
    @Test(.timeLimit(.minutes(30)), arguments: 0..<parts) func everyDamageIsAnswered(part: Int) throws {
        let fixtures = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .appendingPathComponent("Fixtures")
        let count = Self.seeds.count / Self.parts
        let worker = Process()
        worker.executableURL = try Self.worker()
        worker.arguments = [fixtures.path, String(Self.seeds.first + part * count), String(count), "run"]
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
        // The damage must bite, or this test says nothing; and some of it must leave something to run.
        let refused = lines.last?.split(separator: " ").dropFirst().first.flatMap { Int($0) } ?? 0
        #expect(refused > count / 4 && refused < count, "\(refused) of \(count) were refused")
    }

    /// The worker lies beside the tests.
    private static func worker() throws -> URL {
        let tests = try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
        return URL(fileURLWithPath: tests).deletingLastPathComponent().appendingPathComponent("AssetFuzzWorker")
    }
}
