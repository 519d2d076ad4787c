import CoreAIBackend
import CoreAIDelegates

func benchCommand(_ arguments: Arguments) async throws {
    let session = try await Session(arguments)
    let seconds: (first: Double, runs: [Double]) = try await showingProgress(
        "running \(session.function.descriptor.name)"
    ) {
        let first = try await session.timedRun().seconds
        for _ in 0..<(arguments.count(.warmup) ?? 0) { _ = try await session.run() }
        var runs: [Double] = []
        let start = ContinuousClock.now
        func isEnough() -> Bool {
            if let wanted = arguments.count(.repeats) { return runs.count >= wanted }
            return runs.count >= 3 && (runs.count >= 10_000 || (ContinuousClock.now - start).seconds >= 1)
        }
        while !isEnough() { runs.append(try await session.timedRun().seconds) }
        return (first, runs)
    }
    let report = BenchReport(session, seconds.first, seconds.runs)
    if arguments.flag(.json) {
        print(try jsonText(report))
    } else {
        print(report.describe(arguments.model, session), terminator: "")
    }
}

/// What `--json` prints. Times are in seconds.
private struct BenchReport: Encodable {
    struct Runs: Encodable {
        let count: Int
        let min: Double
        let median: Double
        let p90: Double
        let seconds: [Double]
    }
    let function: String
    let threads: Int
    let load: LoadTimes
    let firstRun: Double
    let run: Runs
    let peakResidentKiB: Int?
    /// Operations by backend.
    let placement: [String: Int]

    init(_ session: Session, _ first: Double, _ runs: [Double]) {
        function = session.function.descriptor.name
        threads = WorkerPool.shared.width
        load = LoadTimes(session.model.loadReport, session.loadSeconds)
        firstRun = first
        run = Runs(
            count: runs.count, min: runs.min() ?? 0, median: runs.percentile(0.5), p90: runs.percentile(0.9),
            seconds: runs)
        peakResidentKiB = ProcessUsage.peakResidentKiB
        placement = session.model.placement(for: function)?.countsOfBackends ?? [:]
    }

    func describe(_ path: String, _ session: Session) -> String {
        var about = describeLoaded(path, session)
        about.add("inputs", session.inputs.map { "\($0.name) \($0.array.typeText)" }.list())
        about.add("threads", "\(threads)")
        if let peak = peakResidentKiB { about.add("peak memory", (peak * 1024).byteSize) }
        var times = TextTable(.left, .right)
        times.add("load", load.seconds.duration)
        for phase in session.model.loadReport.phases { times.add("  \(phase.name)", phase.seconds.duration) }
        times.add("first run", firstRun.duration)
        times.add("\(counted(run.count, "run"))")
        times.add("  minimum", run.min.duration)
        times.add("  median", run.median.duration)
        times.add("  90th percentile", run.p90.duration)
        return about.text() + "\n" + times.text()
    }
}

extension PlacementReport {
    /// Operations by backend.
    var countsOfBackends: [String: Int] {
        Dictionary(countsByBackend.map { ($0.backend, $0.count) }, uniquingKeysWith: +)
    }
}
