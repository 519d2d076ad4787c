import CoreAI
import CoreAIDelegates
import Foundation

func runCommand(_ arguments: Arguments) async throws {
    if arguments.flag(.serve) { return try await serve(arguments) }
    let session = try await Session(arguments)
    var results = Session.Results()
    var seconds: [Double] = []
    try await showingProgress("running \(session.function.descriptor.name)") {
        for _ in 0..<(arguments.count(.warmup) ?? 0) { _ = try await session.run() }
        for _ in 0..<(arguments.count(.repeats) ?? 1) {
            let run = try await session.timedRun()
            results = run.results
            seconds.append(run.seconds)
        }
    }
    let files = try arguments.text(.outputDirectory).map { try results.write(to: $0) } ?? [:]
    if arguments.flag(.json) {
        print(try jsonText(RunReport(session, results, files, seconds)))
    } else {
        print(describe(arguments.model, session, results, files, seconds), terminator: "")
    }
}

extension Session.Results {
    /// Writes outputs and states.
    /// - Returns: the files by the names of outputs, and of states after `state `.
    func write(to path: String) throws -> [String: String] {
        let directory = URL(fileURLWithPath: path, isDirectory: true)
        do {
            try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
        } catch {
            throw Failure("\(path): expected a directory to write to: \(error.localizedDescription)")
        }
        var files: [String: String] = [:]
        var owners: [String: String] = [:]
        let all =
            outputs.map { ($0.name, $0.name.fileName, $0.array) }
            + states.map { ("state \($0.name)", "state_\($0.name.fileName)", $0.array) }
        for (name, fileName, array) in all {
            if let other = owners.updateValue(name, forKey: fileName) {
                throw Failure("'\(other)' and '\(name)' would both be written to \(path)/\(fileName).npy")
            }
            let file = directory.appendingPathComponent(fileName + ".npy")
            try array.write(to: file)
            files[name] = file.path
        }
        return files
    }
}

/// What `--json` prints.
private struct RunReport: Encodable {
    struct Value: Encodable {
        let name: String
        let shape: [Int]
        let scalarType: String
        let file: String?

        private enum CodingKeys: CodingKey { case name, shape, scalarType, file }

        /// A file that was not written is null, not left out.
        func encode(to encoder: any Encoder) throws {
            var members = encoder.container(keyedBy: CodingKeys.self)
            try members.encode(name, forKey: .name)
            try members.encode(shape, forKey: .shape)
            try members.encode(scalarType, forKey: .scalarType)
            try members.encode(file, forKey: .file)
        }
    }
    struct Run: Encodable { let seconds: [Double] }

    let function: String
    let inputs: [Value]
    let outputs: [Value]
    let states: [Value]
    let filledInputs: [String]
    let load: LoadTimes
    let run: Run
    /// Operations by backend.
    let placement: [String: Int]
    let placementNote: String?

    init(_ session: Session, _ results: Session.Results, _ files: [String: String], _ seconds: [Double]) {
        let model = session.model
        let placement = model.placement(for: session.function.descriptor.name)
        function = session.function.descriptor.name
        inputs = session.inputs.map { input in
            var file: String?
            if case .file(let path) = input.origin { file = path }
            return Value(input.name, input.array, file)
        }
        outputs = results.outputs.map { Value($0.name, $0.array, files[$0.name]) }
        states = results.states.map { Value($0.name, $0.array, files["state \($0.name)"]) }
        filledInputs = session.filledInputs.map(\.name)
        load = LoadTimes(session)
        run = Run(seconds: seconds)
        self.placement = placement?.countsOfBackends ?? [:]
        placementNote = placement?.note
    }
}

extension RunReport.Value {
    init(_ name: String, _ array: NDArray, _ file: String?) {
        self.init(name: name, shape: array.shape, scalarType: array.scalarType.name, file: file)
    }
}

private func describe(
    _ path: String, _ session: Session, _ results: Session.Results, _ files: [String: String], _ seconds: [Double]
) -> String {
    var text = describeLoaded(path, session).text()
    if !session.inputs.isEmpty { text += "\nInputs\n" + table(session.inputs) }
    if !session.states.isEmpty { text += "\nStates\n" + table(session.states) }
    text += "\nOutputs\n" + table(results.outputs)
    if !results.states.isEmpty { text += "\nStates after the run\n" + table(results.states) }
    var times = TextTable()
    times.add("load", session.loadSeconds.duration, "(\(session.loadBreakdown))")
    let least = seconds.min() ?? 0
    times.add(
        "run", (seconds.count == 1 ? least : seconds.percentile(0.5)).duration,
        seconds.count == 1 ? "" : "(median of \(seconds.count), minimum \(least.duration))")
    text += "\nTime\n" + times.text(indent: 2)
    if !files.isEmpty {
        text += "\nWritten\n" + files.values.sorted().map { "  \($0)\n" }.joined()
    }
    return text
}

/// Model, function, placement, and what the load noted.
func describeLoaded(_ path: String, _ session: Session) -> TextTable {
    let name = session.function.descriptor.name
    var table = TextTable()
    table.add("model", path)
    table.add("function", name)
    if let placement = session.model.placement(for: name) { addPlacement(placement, to: &table) }
    for note in session.model.loadReport.notes { table.add("note", note) }
    return table
}

func addPlacement(_ placement: PlacementReport, to table: inout TextTable) {
    let total = placement.entries.count
    let counts = placement.countsByBackend.map { "\($0.backend) \($0.count)" }.list()
    table.add(
        "placement",
        total == 0
            ? "nothing to compute"
            : "\(counts) of \(counted(total, "operation")), in \(counted(placement.segmentCount, "segment"))")
    if let note = placement.note { table.add("note", note) }
}

extension Session {
    /// How long loading took, phase by phase, on one line.
    fileprivate var loadBreakdown: String {
        let all = loadPhases.map { "\($0.name) \($0.seconds.duration)" }.list()
        let verdict = model.loadReport.verdict
        return verdict == "miss" ? all : "\(verdict): \(all)"
    }
}

private func table(_ arguments: [Session.Argument]) -> String {
    var table = TextTable()
    for argument in arguments {
        let assumed =
            argument.assumedSizes == 0 ? "" : ", free sizes taken as 1 (--shape \(argument.name)=… changes them)"
        let origin =
            switch argument.origin {
            case .file(let path): "from \(path)"
            case .seed(let seed): "filled from seed \(seed)"
            case .zeros: "zeros"
            }
        table.add(argument.name, argument.array.typeText, origin + assumed)
    }
    return table.text(indent: 2)
}

private func table(_ values: [(name: String, array: NDArray)]) -> String {
    var table = TextTable(.left, .left, .right, .right, .right, .right)
    table.add("name", "type", "min", "mean", "max", "NaN", "first values")
    for (name, array) in values {
        let statistics = Statistics(array)
        func text(_ value: Double?) -> String { value?.brief ?? "-" }
        table.add(
            name, array.typeText, text(statistics.range?.least), text(statistics.range?.mean),
            text(statistics.range?.largest), statistics.nanCount.grouped, statistics.first.joined(separator: "  "))
    }
    let isComplex = values.contains { $0.array.scalarType.isComplex }
    return table.text(indent: 2)
        + (isComplex ? "  (min, mean and max of complex values are those of their magnitudes)\n" : "")
}

extension NDArray {
    /// `float32 [1, 3]`
    var typeText: String { "\(scalarType.name) \(shape)" }
}
