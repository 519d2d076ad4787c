import Foundation

/// Stays loaded and answers JSON lines on standard input until it ends.
func serve(_ arguments: Arguments) async throws {
    let session = try await Session(arguments)
    var (results, first) = try await session.timedRun()
    emit(
        try jsonText(
            Greeting(load_ms: session.loadSeconds.milliseconds, first_ms: first.milliseconds, version: toolVersion)))
    while let line = readLine() {
        do {
            switch try Request(line) {
            case .run(let limits):
                for _ in 0..<limits.warmup { _ = try await session.run() }
                var measured = Measured()
                let start = ContinuousClock.now
                while measured.isShort(of: limits, after: (ContinuousClock.now - start).seconds) {
                    let cpu = ProcessUsage.cpuSeconds
                    let run = try await session.timedRun()
                    measured.cpu_ms.append((ProcessUsage.cpuSeconds - cpu).milliseconds)
                    measured.latencies_ms.append(run.seconds.milliseconds)
                    results = run.results
                }
                emit(try jsonText(measured))
            case .stats:
                emit(try jsonText(["peak_rss_kib": ProcessUsage.peakResidentKiB]))
            case .dump:
                guard let directory = arguments.text(.outputDirectory) else {
                    throw Failure("dump expects the option --output-dir")
                }
                _ = try results.write(to: directory)
                emit("{}")
            }
        } catch {
            emit(try jsonText(["error": describe(error)]))
        }
    }
}

private struct Greeting: Encodable {
    let load_ms: Double
    let first_ms: Double
    let version: String
}

private struct Measured: Encodable {
    var latencies_ms: [Double] = []
    var cpu_ms: [Double] = []

    func isShort(of limits: RunLimits, after seconds: Double) -> Bool {
        let count = latencies_ms.count
        return count < limits.most && (count < limits.least || seconds * 1e3 < limits.sliceMilliseconds)
    }
}

/// As many runs as fit the slice, but at least `least` and at most `most`.
private struct RunLimits {
    var sliceMilliseconds = 400.0
    var least = 3
    var most = 200
    var warmup = 0
}

/// One line of the dialogue.
private enum Request {
    case run(RunLimits)
    case stats
    case dump

    private struct Line: Decodable {
        let cmd: String
        let slice_ms: Double?
        let min_n: Int?
        let max_n: Int?
        let warmup: Int?
    }

    /// - Throws: `Failure` saying what was expected.
    init(_ text: String) throws {
        let line: Line
        do {
            line = try JSONDecoder().decode(Line.self, from: Data(text.utf8))
        } catch {
            throw Failure(#"expected one JSON object with a string "cmd" and numbers, found \#(text.prefix(80))"#)
        }
        switch line.cmd {
        case "run":
            var limits = RunLimits()
            limits.sliceMilliseconds = line.slice_ms ?? limits.sliceMilliseconds
            limits.most = line.max_n ?? max(limits.most, line.min_n ?? 0)
            limits.least = line.min_n ?? min(limits.least, limits.most)
            limits.warmup = line.warmup ?? limits.warmup
            guard limits.sliceMilliseconds >= 0, limits.least >= 0, limits.warmup >= 0,
                limits.most >= max(limits.least, 1)
            else {
                throw Failure("expected slice_ms, min_n and warmup of at least 0 and max_n of at least 1 and min_n")
            }
            self = .run(limits)
        case "stats": self = .stats
        case "dump": self = .dump
        default: throw Failure("unknown cmd '\(line.cmd)'" + didYouMean(line.cmd, among: ["run", "stats", "dump"]))
        }
    }
}
