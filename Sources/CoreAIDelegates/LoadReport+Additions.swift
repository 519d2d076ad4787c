/// How a model came to be loaded and what that took.
public struct LoadReport: Sendable, Hashable {
    public struct Phase: Sendable, Hashable {
        /// `open`, `verify`, `read`, `canonicalize`, `plan`, `compile`.
        public let name: String
        public let seconds: Double
    }
    /// `miss`: the model was specialized now. Until there is a cache on disk, every load is one.
    public let verdict: String
    /// In the order they ran, several functions added up.
    public let phases: [Phase]
    /// What a user may want to know: a missing hash, a check that was switched off.
    public let notes: [String]

    public var seconds: Double { phases.reduce(0) { $0 + $1.seconds } }
}

/// Adds up the time spent in named phases.
package struct PhaseClock {
    package private(set) var phases: [LoadReport.Phase] = []
    private let clock = ContinuousClock()

    package init() {}

    package mutating func measure<Result>(_ name: String, _ body: () throws -> Result) rethrows -> Result {
        let start = clock.now
        defer { add(name, clock.now - start) }
        return try body()
    }

    private mutating func add(_ name: String, _ duration: Duration) {
        let seconds = Double(duration.components.seconds) + Double(duration.components.attoseconds) * 1e-18
        if let index = phases.firstIndex(where: { $0.name == name }) {
            phases[index] = LoadReport.Phase(name: name, seconds: phases[index].seconds + seconds)
        } else {
            phases.append(LoadReport.Phase(name: name, seconds: seconds))
        }
    }
}
