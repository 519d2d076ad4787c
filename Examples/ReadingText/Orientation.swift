import CoreAI
import Foundation

/// Turns the picture by quarters and asks a second model by how much it was turned: four pictures in one batch, a size
/// that the model leaves open.
/// - Returns: whether every answer is right.
func tellOrientation(of picture: Picture, with asset: URL) async throws -> Bool {
    let model = try await AIModel(contentsOf: asset)
    guard let function = try model.loadFunction(named: "main"), let input = function.descriptor.inputNames.first,
        let output = function.descriptor.outputNames.first
    else { throw Problem("\(shortPath(asset)) has no function 'main' with an input and an output") }

    let side = 224
    let batch = (0..<4).flatMap { picture.turned(quarters: $0, side: side).normalized }
    let start = ContinuousClock.now
    var outputs = try await function.run(inputs: [input: NDArray(scalars: batch, shape: [4, 3, side, side])])
    let time = ContinuousClock.now - start
    guard let scores = outputs.remove(output)?.ndArray, scores.shape == [4, 4] else {
        throw Problem("expected a score for each of 4 pictures and 4 angles")
    }

    heading("Which way up")
    row("asset", shortPath(asset))
    row("run", "a batch of 4 in \(milliseconds(time))")
    let view = scores.view(as: Float.self)
    var right = 0
    for turned in 0..<4 {
        let answer = (0..<4).max { view[scalarAt: [turned, $0]] < view[scalarAt: [turned, $1]] } ?? 0
        if answer == turned { right += 1 }
        row(
            "turned by \(90 * turned)°",
            "answer \(padded("\(90 * answer)°", 6))score \(decimals(Double(view[scalarAt: [turned, answer]])))")
    }
    print("\ntold \(right) of 4 angles")
    return right == 4
}
