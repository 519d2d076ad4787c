/// When computed floating-point numbers pass for the recorded ones; integers and booleans must be equal.
struct FixtureTolerance: Sendable {
    var absolute: Double
    var relative: Double
    /// An array also passes by its cosine, if its norm is within 1 %.
    var minimumCosine: Double?

    /// The worst difference in words, or nil if the array passes.
    func difference(_ got: [Double], _ want: [Double]) -> String? {
        guard got.count == want.count else { return "has \(got.count) elements, expected \(want.count)" }
        var worst: (index: Int, excess: Double)?
        var wrong = 0
        for (index, (a, b)) in zip(got, want).enumerated() {
            if a == b || (a.isNaN && b.isNaN) { continue }
            let limit = absolute + relative * abs(b)
            let excess = abs(a - b) - limit
            if excess <= 0 { continue }
            wrong += 1
            // NaN in one place only is worse than any number.
            let weight = excess.isNaN ? Double.infinity : excess
            if weight >= worst?.excess ?? 0 { worst = (index, weight) }
        }
        guard let worst else { return nil }
        if let minimumCosine, passesByCosine(got, want, minimumCosine) { return nil }
        return "\(wrong) of \(got.count) elements differ; element \(worst.index) is \(got[worst.index]), "
            + "expected \(want[worst.index]) within \(absolute + relative * abs(want[worst.index])), off by \(abs(got[worst.index] - want[worst.index]))"
    }

    private func passesByCosine(_ got: [Double], _ want: [Double], _ minimum: Double) -> Bool {
        let dot = zip(got, want).reduce(0) { $0 + $1.0 * $1.1 }
        let a = got.reduce(0) { $0 + $1 * $1 }.squareRoot()
        let b = want.reduce(0) { $0 + $1 * $1 }.squareRoot()
        guard a > 0, b > 0, abs(a - b) <= 0.01 * b else { return false }
        return dot / (a * b) >= minimum
    }
}
