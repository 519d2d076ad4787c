import Foundation

/// Another command that is timed in turns with a model.
struct Comparison {
    struct Time {
        let seconds: Double
        /// The command printed it; else it is that of the whole process.
        let isTold: Bool
    }
    let command: String
    /// What the command finds in its environment.
    let model: String
    let threads: Int

    /// Runs the command once.
    /// - Throws: `Failure` if it ends with another status than 0, or prints `ms:` without a positive number.
    func run() throws -> Time {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/bin/sh")
        process.arguments = ["-c", command]
        process.environment = ProcessInfo.processInfo.environment.merging(
            ["COREAI_BENCH_MODEL": model, "COREAI_BENCH_THREADS": "\(threads)"], uniquingKeysWith: { $1 })
        let start = ContinuousClock.now
        let result = try process.runToEnd()
        let seconds = (ContinuousClock.now - start).seconds
        guard result.status == 0 else {
            throw Failure("--compare: '\(command)' ended with \(result.ending): \(result.lastErrorLine)")
        }
        let lines = String(decoding: result.output, as: UTF8.self).split(whereSeparator: \.isNewline)
        guard let line = lines.last(where: { $0.hasPrefix("ms:") }) else {
            return Time(seconds: seconds, isTold: false)
        }
        let number = line.dropFirst(3).trimmingCharacters(in: .whitespaces)
        guard let milliseconds = Double(number), milliseconds > 0, milliseconds.isFinite else {
            throw Failure("--compare: '\(command)' printed '\(line)', expected a positive number after 'ms:'")
        }
        return Time(seconds: milliseconds / 1e3, isTold: true)
    }
}

/// How a process ended and what it wrote.
struct ProcessResult {
    let status: Int32
    let isSignal: Bool
    let output: Data
    let errors: Data

    /// `status 1`, `signal 6`
    var ending: String { "\(isSignal ? "signal" : "status") \(status)" }

    /// The last line on standard error, or how the process ended.
    var lastErrorLine: String {
        let lines = String(decoding: errors, as: UTF8.self).split(whereSeparator: \.isNewline)
        return lines.last.map(String.init) ?? "nothing on standard error, \(ending)"
    }
}

extension Process {
    /// Runs without input until the end.
    func runToEnd() throws -> ProcessResult {
        // Errors go to a file: two pipes could fill up one after the other.
        let file = FileManager.default.temporaryDirectory.appendingPathComponent("coreai-\(UUID().uuidString).err")
        guard FileManager.default.createFile(atPath: file.path, contents: nil) else {
            throw Failure("\(file.path): expected a file to write to (TMPDIR chooses another directory)")
        }
        defer { try? FileManager.default.removeItem(at: file) }
        let (output, errors) = (Pipe(), try FileHandle(forUpdating: file))
        (standardInput, standardOutput, standardError) = (FileHandle.nullDevice, output, errors)
        try run()
        let written = output.fileHandleForReading.readDataToEndOfFile()
        waitUntilExit()
        return ProcessResult(
            status: terminationStatus, isSignal: terminationReason == .uncaughtSignal, output: written,
            errors: try Data(contentsOf: file))
    }
}
