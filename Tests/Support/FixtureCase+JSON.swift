import CoreAIGraph
import Foundation

extension FixtureCase {
    /// - Throws: `FixtureError` for what is not as the runner needs it: a check that is not understood must not pass unmade.
    init(_ name: String, _ folder: URL, _ json: Data) throws {
        guard let object = try JSONSerialization.jsonObject(with: json) as? [String: Any] else {
            throw FixtureError("\(name): case.json holds no object")
        }
        self.name = name
        self.folder = folder
        guard let asset = object["asset"] as? String ?? object["model"] as? String else {
            throw FixtureError("\(name): expected 'asset' or 'model' in case.json, found neither")
        }
        self.asset = folder.appendingPathComponent(asset)
        let tolerance = object["tolerance"] as? [String: Any] ?? object
        guard let absolute = tolerance["atol"] as? Double, let relative = tolerance["rtol"] as? Double else {
            throw FixtureError("\(name): expected the numbers 'atol' and 'rtol' in case.json, found one missing")
        }
        self.tolerance = FixtureTolerance(
            absolute: absolute, relative: relative, minimumCosine: tolerance["min_cosine"] as? Double)
        if let stored = object["steps"] as? [[String: Any]] {
            var states: [String] = []
            steps = try stored.enumerated().map { index, entry in
                let step = try Step(step: entry, carrying: states, "\(name) step \(index)")
                if !step.states.isEmpty { states = step.states.map(\.name) }
                return step
            }
        } else if let calls = object["calls"] as? [[String: Any]], let function = object["function"] as? String {
            steps = try calls.enumerated().map { try Step(call: $1, function: function, "\(name) call \($0)") }
        } else {
            throw FixtureError("\(name): expected 'steps', or 'function' and 'calls', in case.json, found neither")
        }
    }
}

extension FixtureCase.Step {
    private typealias Entry = (name: String, value: [String: Any])

    /// The form of `models/`: dictionaries by name.
    /// - Parameter names: the states of the step before, for a step that carries them on.
    init(step: [String: Any], carrying names: [String], _ subject: String) throws {
        func entries(_ key: String) throws -> [Entry] {
            guard let value = step[key] else { return [] }
            guard let dictionary = value as? [String: [String: Any]] else {
                throw FixtureError("\(subject): expected objects by name in '\(key)', found \(value)")
            }
            return dictionary.sorted { $0.key < $1.key }.map { ($0.key, $0.value) }
        }
        func source(_ entry: Entry) throws -> Source {
            if let file = entry.value["file"] as? String { return .file(file) }
            if let step = entry.value["from_step"] as? Int, let output = entry.value["output"] as? String {
                return .output(step: step, name: output)
            }
            if entry.value["zeros"] as? Bool == true, let shape = entry.value["shape"] as? [Int] { return .zeros(shape) }
            throw FixtureError("\(subject): expected a file, an earlier output or zeros for '\(entry.name)', found \(entry.value)")
        }
        guard let function = step["function"] as? String else { throw FixtureError("\(subject): names no function") }
        let isCarried = step["states"] as? String == "carry"
        self.init(
            function: function,
            inputs: try entries("inputs").map { ($0.name, try source($0)) },
            states: try isCarried ? names.map { ($0, .carry) } : entries("states").map { ($0.name, try source($0)) },
            outputs: try entries("outputs").map { try Recording($0.name, "file", $0.value, subject) },
            statesAfter: try entries("states_after").map { try Recording($0.name, "file", $0.value, subject) })
    }

    /// The form of `ops/`: lists with names inside.
    init(call: [String: Any], function: String, _ subject: String) throws {
        func entries(_ key: String) throws -> [Entry] {
            guard let list = call[key] as? [[String: Any]] else {
                throw FixtureError("\(subject): expected a list of objects in '\(key)'")
            }
            return try list.map { entry in
                guard let name = entry["name"] as? String else { throw FixtureError("\(subject): an entry of '\(key)' has no name") }
                return (name, entry)
            }
        }
        let states = try entries("states")
        self.init(
            function: function,
            inputs: try entries("inputs").map { name, entry in
                guard let file = entry["file"] as? String else { throw FixtureError("\(subject): input '\(name)' has no file") }
                return (name, .file(file))
            },
            states: states.map { ($0.name, ($0.value["initial"] as? String).map(Source.file) ?? .carry) },
            outputs: try entries("outputs").map { try Recording($0.name, "file", $0.value, subject) },
            statesAfter: try states.map { try Recording($0.name, "after", $0.value, subject) })
    }
}

extension FixtureCase.Step.Recording {
    fileprivate init(_ name: String, _ key: String, _ entry: [String: Any], _ subject: String) throws {
        guard let file = entry[key] as? String, let dtype = entry["dtype"] as? String,
            let scalar = ScalarType(fixtureName: dtype)
        else { throw FixtureError("\(subject): expected '\(key)' and a known 'dtype' for '\(name)', found \(entry)") }
        self.init(name: name, file: file, scalar: scalar)
    }
}

extension ScalarType {
    /// Fixtures name types as NumPy and its extensions do.
    fileprivate init?(fixtureName: String) {
        switch fixtureName {
        case "complex64": self = .cfloat32
        case "complex128": self = .cfloat64
        case "float8_e5m2": self = .float8e5m2
        case "float8_e4m3fn": self = .float8e4m3fn
        case "float8_e8m0fnu": self = .float8e8m0fn
        default: self.init(name: fixtureName)
        }
    }
}
