import Foundation

extension FixtureCase {
    init(_ name: String, _ folder: URL, _ json: Data) throws {
        guard let object = try JSONSerialization.jsonObject(with: json) as? [String: Any] else {
            throw FixtureError("\(name): case.json holds no object")
        }
        self.name = name
        self.folder = folder
        let asset = object["asset"] as? String ?? object["model"] as? String ?? "model.aimodel"
        self.asset = folder.appendingPathComponent(asset)
        let tolerance = object["tolerance"] as? [String: Any] ?? object
        self.tolerance = FixtureTolerance(
            absolute: tolerance["atol"] as? Double ?? 0, relative: tolerance["rtol"] as? Double ?? 0,
            minimumCosine: tolerance["min_cosine"] as? Double)
        if let steps = object["steps"] as? [[String: Any]] {
            self.steps = steps.enumerated().map { Step(step: $1, after: $0 > 0 ? steps[$0 - 1] : nil) }
        } else {
            let function = object["function"] as? String ?? "main"
            let calls = object["calls"] as? [[String: Any]] ?? []
            steps = calls.map { Step(call: $0, function: function) }
        }
    }
}

extension FixtureCase.Step {
    /// The form of `models/`: dictionaries by name.
    init(step: [String: Any], after previous: [String: Any]?) {
        func pairs(_ key: String) -> [(String, [String: Any])] {
            (step[key] as? [String: [String: Any]] ?? [:]).sorted { $0.key < $1.key }
        }
        func source(_ entry: [String: Any]) -> Source {
            if let file = entry["file"] as? String { return .file(file) }
            if let step = entry["from_step"] as? Int { return .output(step: step, name: entry["output"] as? String ?? "") }
            return .zeros(entry["shape"] as? [Int] ?? [])
        }
        self.init(
            function: step["function"] as? String ?? "main",
            inputs: pairs("inputs").map { ($0.0, source($0.1)) },
            states: pairs("states").map { ($0.0, source($0.1)) },
            outputs: pairs("outputs").compactMap { entry in (entry.1["file"] as? String).map { (entry.0, $0) } },
            statesAfter: pairs("states_after").compactMap { entry in (entry.1["file"] as? String).map { (entry.0, $0) } })
        if step["states"] as? String == "carry", let names = Self.stateNames(previous) {
            states = names.map { ($0, .carry) }
        }
    }

    /// What "carry" carries: the names may be given many steps back, so that the runner carries all it has.
    private static func stateNames(_ previous: [String: Any]?) -> [String]? {
        (previous?["states"] as? [String: Any]).map { $0.keys.sorted() } ?? []
    }

    /// The form of `ops/`: lists with names inside.
    init(call: [String: Any], function: String) {
        func list(_ key: String) -> [(name: String, entry: [String: Any])] {
            (call[key] as? [[String: Any]] ?? []).map { ($0["name"] as? String ?? "", $0) }
        }
        self.init(
            function: function,
            inputs: list("inputs").map { ($0.name, .file($0.entry["file"] as? String ?? "")) },
            states: list("states").map { name, entry in
                (name, (entry["initial"] as? String).map(Source.file) ?? .carry)
            },
            outputs: list("outputs").map { ($0.name, $0.entry["file"] as? String ?? "") },
            statesAfter: list("states").compactMap { name, entry in (entry["after"] as? String).map { (name, $0) } })
    }
}
