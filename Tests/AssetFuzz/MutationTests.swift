import Foundation
import Testing

/// Damaged programs are answered: no trap, no hang, no more than 64 MB, a result or an error that names the file.
@Suite struct MutationTests {
    static let variants = 1000

    @Test(.timeLimit(.minutes(10))) func everyDamageIsAnswered() throws {
        let fixtures = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .appendingPathComponent("Fixtures")
        let worker = Process()
        worker.executableURL = try Self.worker()
        worker.arguments = [fixtures.path, "0", String(Self.variants)]
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
        // The damage must bite, or this test says nothing.
        let refused = lines.last?.split(separator: " ").dropFirst().first.flatMap { Int($0) } ?? 0
        #expect(refused > Self.variants / 4, "only \(refused) of \(Self.variants) were refused")
    }

    /// The worker lies beside the tests.
    private static func worker() throws -> URL {
        let tests = try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
        return URL(fileURLWithPath: tests).deletingLastPathComponent().appendingPathComponent("AssetFuzzWorker")
    }
}
