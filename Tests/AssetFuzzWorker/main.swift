// Loads damaged copies of real assets, one after another, and says what went wrong with which seed.
//
//     AssetFuzzWorker FIXTURES FIRST COUNT [run]
//
// With `run`, what loads is also run once, on zeros, for at most half a second.
//
// A process of its own, so that the memory it measures is that of the loads alone and a trap names its seed: the seed under
// way is printed before it is tried. The last line counts the refusals.

import CoreAI
import CoreAIAsset
import CoreAIDelegates
import CoreAIGraph
import Foundation

/// Small assets with as many features as there are.
let assets = [
    "ops/activations", "ops/multi_function", "ops/if_else", "ops/while_loop", "ops/weights_resource_types",
    "ops/weights_sparse_bitmask", "ops/hardware_constraints", "ops/decode_image_inputs", "ops/torch_conv_net",
    "ops/dynamic_shapes", "ops/state_accumulate", "models/mixed_p_pal4", "models/bert_tiny", "models/magika",
    "ops/conv2d", "ops/conv_transpose2d", "ops/pool2d", "ops/pad", "ops/matmul", "ops/reduce", "ops/slice",
    "ops/gather",
    "ops/shape_ops", "ops/torch_transformer_dynamic", "models/detection_nms_free", "models/crnn", "models/mixed_f16",
]
/// Beyond the program itself.
let memoryLimit = 64 << 20
/// What a run may take for its tensors, whose sizes the program says.
let runMemoryLimit = 1 << 30

let arguments = CommandLine.arguments
guard (4...5).contains(arguments.count), let first = Int(arguments[2]), let count = Int(arguments[3]) else {
    print("usage: AssetFuzzWorker FIXTURES FIRST COUNT [run]")
    exit(64)
}
let fixtures = URL(fileURLWithPath: arguments[1])
let folder = FileManager.default.temporaryDirectory.appendingPathComponent("coreai-fuzz-\(UUID().uuidString)")
let asset = folder.appendingPathComponent("fuzzed.aimodel")
try FileManager.default.createDirectory(at: asset, withIntermediateDirectories: true)
defer { try? FileManager.default.removeItem(at: folder) }

/// Unbuffered: what was said last must be seen when the process traps.
func say(_ line: String) { FileHandle.standardOutput.write(Data((line + "\n").utf8)) }

func report(_ seed: Int, _ fault: String) { say("fault: seed \(seed): \(fault)") }

/// Writes the damaged asset with a `main.hash` that matches the damage, so that it is the reader that has to refuse it.
func write(_ seed: Int) throws -> Int {
    let original = fixtures.appendingPathComponent(assets[seed % assets.count]).appendingPathComponent("model.aimodel")
    var program = try Data(contentsOf: original.appendingPathComponent("main.mlirb"))
    var random = Random(seed: UInt64(seed))
    random.damage(&program)
    try program.write(to: asset.appendingPathComponent("main.mlirb"))
    try Data(Digest(of: Bytes(copying: program)).bytes).write(to: asset.appendingPathComponent("main.hash"))
    try Data(contentsOf: original.appendingPathComponent("metadata.json"))
        .write(to: asset.appendingPathComponent("metadata.json"))
    return program.count
}

/// Whatever a run of a damaged program throws is an answer; that it comes back is what counts.
func run(_ model: AIModel) async throws {
    for name in model.functionNames {
        guard let function = try model.loadFunction(named: name) else { continue }
        var inputs: [String: NDArray] = [:]
        for input in function.descriptor.inputNames {
            guard case .ndArray(let descriptor)? = function.descriptor.inputDescriptor(of: input) else { return }
            let shape = descriptor.shape.map { max($0, 1) }
            let count = shape.reduce(1.0) { $0 * Double($1) }
            guard count < 1e7 else { return }
            inputs[input] = NDArray(shape: shape, scalarType: descriptor.scalarType)
        }
        for output in function.descriptor.outputNames {
            guard case .ndArray(let descriptor)? = function.descriptor.outputDescriptor(of: output) else { return }
            guard descriptor.shape.reduce(1.0, { $0 * Double(max($1, 1)) }) < 1e7 else { return }
        }
        let arrays = inputs
        let attempt = Task { _ = try await function.run(inputs: arrays) }
        let clock = Task {
            try await Task.sleep(for: .milliseconds(500))
            attempt.cancel()
        }
        _ = try? await attempt.value
        clock.cancel()
    }
}

var refused = 0
for seed in first..<first + count {
    say("seed \(seed)")
    let size = try write(seed)
    let before = Memory.resident
    Memory.resetPeak()
    var isLoaded = false
    // The program itself is mapped and read, which counts as resident.
    func check(_ limit: Int) {
        let grown = Memory.peak - before
        if grown > limit + size { report(seed, "\(grown >> 20) MiB more") }
    }
    do {
        let model = try await AIModel(contentsOf: asset)
        for name in model.functionNames { _ = model.functionDescriptor(for: name) }
        check(memoryLimit)
        isLoaded = true
        if arguments.count == 5 { try await run(model) }
    } catch let error as AssetError {
        refused += 1
        let text = error.errorDescription ?? ""
        if !text.contains("fuzzed.aimodel") { report(seed, "names no file: \(text)") }
        if (error.debugMessage ?? "").isEmpty { report(seed, "has no fault") }
    } catch let error as AIModelError {
        if !error.message.contains("fuzzed.aimodel") { report(seed, "names no file: \(error)") }
    } catch {
        report(seed, "\(type(of: error)): \(error)")
    }
    check(isLoaded ? runMemoryLimit : memoryLimit)
}
say("refused \(refused) of \(count)")
