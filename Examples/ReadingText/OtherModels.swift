import CoreAI
import Foundation

/// Loads the other models with real weights and runs each once, on zeros.
func runTheOthers(in folder: URL) async throws {
    heading("Other models with real weights, run once on zeros")
    print("  \(padded("", 19))load        run         outputs  where")
    let names = [
        "ppocr_cls", "magika", "silero_vad", "swift_f0_static", "basic_pitch", "crepe_tiny",
    ]
    for name in names {
        let asset = folder.appendingPathComponent(name).appendingPathComponent("model.aimodel")
        let model = try await AIModel(contentsOf: asset)
        guard let function = try model.loadFunction(named: "main") else {
            throw Problem("\(name) has no function 'main'")
        }
        var inputs: [String: NDArray] = [:]
        for input in function.descriptor.inputNames {
            guard case .ndArray(let descriptor)? = function.descriptor.inputDescriptor(of: input) else { continue }
            // A size that is left open is 1 here.
            inputs[input] = NDArray(
                descriptor: descriptor.resolvingDynamicDimensions(descriptor.shape.map { max($0, 1) }))
        }
        let start = ContinuousClock.now
        let outputs = try await function.run(inputs: inputs)
        let time = ContinuousClock.now - start
        let counts = model.placement(for: "main")?.countsByBackend.map { "\($0.backend) \($0.count)" } ?? []
        row(
            name,
            padded(milliseconds(.seconds(model.loadReport.seconds)), 12) + padded(milliseconds(time), 12)
                + padded("\(outputs.count)", 9) + counts.joined(separator: ", "))
    }
}
