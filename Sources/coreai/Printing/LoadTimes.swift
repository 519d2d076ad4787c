import CoreAIDelegates

/// How a model was loaded, as JSON.
struct LoadTimes: Codable {
    let verdict: String
    /// Seconds by phase.
    let phases: [String: Double]
    let seconds: Double
    let notes: [String]

    init(_ session: Session) {
        let report = session.model.loadReport
        verdict = report.verdict
        phases = Dictionary(session.loadPhases.map { ($0.name, $0.seconds) }, uniquingKeysWith: +)
        seconds = session.loadSeconds
        notes = report.notes
    }
}
