import CoreAIDelegates

/// How a model was loaded, as JSON.
struct LoadTimes: Codable {
    let verdict: String
    /// Seconds by phase.
    let phases: [String: Double]
    let seconds: Double
    let notes: [String]

    /// - Parameter seconds: all of loading, the function included.
    init(_ report: LoadReport, _ seconds: Double) {
        verdict = report.verdict
        phases = Dictionary(report.phases.map { ($0.name, $0.seconds) }, uniquingKeysWith: +)
        self.seconds = seconds
        notes = report.notes
    }
}
