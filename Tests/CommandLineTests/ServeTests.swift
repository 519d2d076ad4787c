import Foundation
import Testing

/// One line out, one line in.
private final class Dialogue {
    private let process: Process
    private let input = Pipe()
    private let output = Pipe()
    private var pending = Data()

    init(_ arguments: String...) throws {
        process = try Tool.process(arguments)
        process.standardInput = input
        process.standardOutput = output
        process.standardError = FileHandle.nullDevice
        try process.run()
    }

    func hear() throws -> [String: Any] {
        while true {
            if let end = pending.firstIndex(of: UInt8(ascii: "\n")) {
                let line = String(decoding: pending[..<end], as: UTF8.self)
                pending = Data(pending[pending.index(after: end)...])
                return try object(line)
            }
            let more = output.fileHandleForReading.availableData
            guard !more.isEmpty else { throw CocoaError(.fileReadUnknown) }
            pending.append(more)
        }
    }

    func ask(_ line: String) throws -> [String: Any] {
        try input.fileHandleForWriting.write(contentsOf: Data((line + "\n").utf8))
        return try hear()
    }

    /// The exit status after the end of input.
    func end() throws -> Int32 {
        try input.fileHandleForWriting.close()
        process.waitUntilExit()
        return process.terminationStatus
    }
}

@Suite struct ServeTests {
    @Test(.timeLimit(.minutes(2))) func everyLineIsAnswered() throws {
        try withDirectory { directory in
            let dialogue = try Dialogue(
                "run", "--serve-stdio", unaryModel, "--input", unaryInput, "--output-dir", directory.path)
            let greeting = try dialogue.hear()
            #expect(greeting["load_ms"] is Double && greeting["first_ms"] is Double && greeting["version"] is String)

            let run = try dialogue.ask(#"{"cmd":"run","slice_ms":0,"min_n":3,"max_n":200,"warmup":1}"#)
            #expect((run["latencies_ms"] as? [Double])?.count == 3)
            #expect((run["cpu_ms"] as? [Double])?.count == 3)
            let many = try dialogue.ask(#"{"cmd":"run","slice_ms":100000,"min_n":1,"max_n":7}"#)
            #expect((many["latencies_ms"] as? [Double])?.count == 7)

            #expect(try dialogue.ask(#"{"cmd":"stats"}"#)["peak_rss_kib"] as? Int ?? 0 > 0)
            #expect(try dialogue.ask(#"{"cmd":"dump"}"#).isEmpty)
            #expect(FileManager.default.fileExists(atPath: directory.appendingPathComponent("o0.npy").path))

            for wrong in [
                "", "{", "[]", "{}", #"{"cmd":"fly"}"#, #"{"cmd":"run","max_n":0}"#, #"{"cmd":"run","min_n":"x"}"#,
            ] {
                #expect(try dialogue.ask(wrong)["error"] is String, "\(wrong)")
            }
            #expect(try dialogue.ask(#"{"cmd":"stats"}"#)["error"] == nil)
            #expect(try dialogue.end() == 0)
        }
    }
}
