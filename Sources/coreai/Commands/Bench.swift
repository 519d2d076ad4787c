import CoreAIBackend
import CoreAIDelegates

func benchCommand(_ arguments: Arguments) async throws {
    guard arguments.models.count == 1 else { return try await benchSeveral(arguments) }
    let limits = try BenchLimits(arguments)
    let session = try await Session(arguments)
    let comparison = arguments.text(.compare).map {
        Comparison(command: $0, model: arguments.model, threads: WorkerPool.shared.width)
    }
    let measured = try await showingProgress("running \(session.function.descriptor.name)") {
        try await measure(session, limits, comparison)
    }
    let profile = arguments.flag(.profile) ? try await Profile(session) : nil
    let report = BenchReport(arguments.model, session, measured, profile)
    if arguments.flag(.json) {
        print(try jsonText(report))
    } else {
        print(report.describe(session), terminator: "")
        if let profile { print("\n" + profile.text(), terminator: "") }
    }
}

/// How often to run, in how many rounds.
struct BenchLimits {
    let rounds: Int
    private let repeats: Int?
    private let seconds: Int
    private let warmup: Int

    init(_ arguments: Arguments) throws {
        repeats = arguments.count(.repeats)
        seconds = arguments.count(.seconds) ?? 1
        warmup = arguments.count(.warmup) ?? 0
        rounds = arguments.text(.compare) == nil ? 1 : arguments.count(.rounds) ?? 5
        func misuse(_ message: String) -> UsageError { Command.bench.misuse(message) }
        if arguments.text(.compare) == nil, arguments.count(.rounds) != nil {
            throw misuse("--rounds are turns with --compare, which is missing")
        }
        guard let repeats else { return }
        if arguments.count(.seconds) != nil { throw misuse("--repeat and --seconds exclude each other") }
        guard repeats >= rounds else {
            throw misuse("--repeat \(repeats) is fewer than the \(rounds) rounds of --compare (--rounds N)")
        }
    }

    fileprivate func warmUp(_ session: Session) async throws {
        for _ in 0..<warmup { _ = try await session.run() }
    }

    /// The seconds of each run of one round.
    fileprivate func runs(of session: Session, round: Int) async throws -> [Double] {
        var runs: [Double] = []
        let start = ContinuousClock.now
        func isEnough() -> Bool {
            if let repeats { return runs.count >= repeats / rounds + (round < repeats % rounds ? 1 : 0) }
            guard runs.count >= (2 + rounds) / rounds else { return false }
            return runs.count >= 10_000 || (ContinuousClock.now - start).seconds >= Double(seconds) / Double(rounds)
        }
        while !isEnough() { runs.append(try await session.timedRun().seconds) }
        return runs
    }
}

struct BenchMeasurement {
    var firstRun = 0.0
    /// In seconds, by round.
    var rounds: [[Double]] = []
    /// The time of the other command in each round.
    var others: [Comparison.Time] = []
}

private func measure(
    _ session: Session, _ limits: BenchLimits, _ comparison: Comparison?
) async throws -> BenchMeasurement {
    var measured = BenchMeasurement()
    measured.firstRun = try await session.timedRun().seconds
    try await limits.warmUp(session)
    for round in 0..<limits.rounds {
        measured.rounds.append(try await limits.runs(of: session, round: round))
        if let comparison { measured.others.append(try comparison.run()) }
    }
    return measured
}
