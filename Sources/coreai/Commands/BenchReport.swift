import CoreAIBackend
import CoreAIDelegates

/// What `bench --json` prints. Times are in seconds.
struct BenchReport: Codable {
    struct Runs: Codable {
        let count: Int
        let min: Double
        let median: Double
        let p90: Double
        let seconds: [Double]
    }
    struct Compared: Codable {
        let seconds: [Double]
        let median: Double
        /// The median run of each round over the command's time.
        let ratios: [Double]
        /// The command told its time; else it is that of the whole process.
        let isTold: Bool
    }
    let model: String
    let function: String
    let threads: Int
    let load: LoadTimes
    let firstRun: Double
    let run: Runs
    /// Of products and convolutions in one run; nil if only a run could tell.
    let productOperations: Double?
    let compare: Compared?
    let peakResidentKiB: Int?
    /// Operations by backend.
    let placement: [String: Int]
    /// With `--profile`: the kernel calls of a run, the longest first.
    let profile: [Profile.Entry]?

    init(_ model: String, _ session: Session, _ measured: BenchMeasurement, _ profile: Profile?) {
        self.model = model
        function = session.function.descriptor.name
        threads = WorkerPool.shared.width
        load = LoadTimes(session)
        firstRun = measured.firstRun
        let runs = measured.rounds.flatMap { $0 }
        run = Runs(
            count: runs.count, min: runs.min() ?? 0, median: runs.percentile(0.5), p90: runs.percentile(0.9),
            seconds: runs)
        productOperations = session.productOperations
        let others = measured.others.map(\.seconds)
        compare =
            others.isEmpty
            ? nil
            : Compared(
                seconds: others, median: others.percentile(0.5),
                ratios: zip(measured.rounds, others).map { $0.percentile(0.5) / $1 },
                isTold: measured.others.allSatisfy(\.isTold))
        peakResidentKiB = ProcessUsage.peakResidentKiB
        placement = session.model.placement(for: function)?.countsOfBackends ?? [:]
        self.profile = profile?.entries
    }

    /// Billions a second in the median run; nil if there is nothing to count.
    private var rate: Double? {
        productOperations.flatMap { $0 > 0 && run.median > 0 ? $0 / run.median / 1e9 : nil }
    }

    func describe(_ session: Session) -> String {
        var about = describeLoaded(model, session)
        about.add("inputs", session.inputs.map { "\($0.name) \($0.array.typeText)" }.list())
        about.add("threads", "\(threads)")
        about.add("kernels", ProcessorKernels.level)
        if let peak = peakResidentKiB { about.add("peak memory", (peak * 1024).byteSize) }
        if let rate { about.add("products", "\(rate.threeDigits) GFLOP/s") }
        var times = TextTable(.left, .right)
        times.add("load", load.seconds.duration)
        for phase in session.loadPhases { times.add("  \(phase.name)", phase.seconds.duration) }
        times.add("first run", firstRun.duration)
        times.add("\(counted(run.count, "run"))")
        times.add("  minimum", run.min.duration)
        times.add("  median", run.median.duration)
        times.add("  90th percentile", run.p90.duration)
        if let compare {
            times.add("compared, \(counted(compare.seconds.count, "round"))")
            times.add("  median \(compare.isTold ? "as it tells" : "of whole processes")", compare.median.duration)
            times.add("  ratio, 10th percentile", compare.ratios.percentile(0.1).threeDigits)
            times.add("  ratio, median", compare.ratios.percentile(0.5).threeDigits)
            times.add("  ratio, 90th percentile", compare.ratios.percentile(0.9).threeDigits)
        }
        return about.text() + "\n" + times.text()
    }

    static func table(_ reports: [BenchReport]) -> String {
        var table = TextTable(.left, .right, .right, .right, .right, .right, .right, .right, .right, .right, .right)
        let isCompared = reports.contains { $0.compare != nil }
        table.add(
            ["model", "threads", "load", "first run", "minimum", "median", "p90", "GFLOP/s", "peak memory"]
                + (isCompared ? ["compared", "ratio"] : []))
        for report in reports {
            let (run, compare) = (report.run, report.compare)
            table.add(
                [
                    report.model, "\(report.threads)", report.load.seconds.duration, report.firstRun.duration,
                    run.min.duration, run.median.duration, run.p90.duration, report.rate?.threeDigits ?? "-",
                    report.peakResidentKiB.map { ($0 * 1024).byteSize } ?? "-",
                ]
                    + (isCompared
                        ? [compare?.median.duration ?? "-", compare?.ratios.percentile(0.5).threeDigits ?? "-"] : []))
        }
        return table.text()
    }
}

extension PlacementReport {
    /// Operations by backend.
    var countsOfBackends: [String: Int] {
        Dictionary(countsByBackend.map { ($0.backend, $0.count) }, uniquingKeysWith: +)
    }
}
