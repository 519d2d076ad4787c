import CoreAI
import CoreAIAsset
import CoreAIDelegates
import CoreAIGraph
import CoreAITestSupport
import Foundation
import Testing

/// Damaged programs, with a `main.hash` that matches the damage, so that it is the reader that has to refuse them.
@Suite(.serialized) struct MutationTests {
    static let fixtures = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .appendingPathComponent("Fixtures")
    static let variants = 1000
    static let memoryLimit = 64 << 20

    /// Small assets with as many features as there are.
    static let assets = [
        "ops/activations", "ops/multi_function", "ops/if_else", "ops/while_loop", "ops/weights_resource_types",
        "ops/weights_sparse_bitmask", "ops/hardware_constraints", "ops/decode_image_inputs", "ops/torch_conv_net",
        "ops/dynamic_shapes", "ops/state_accumulate", "models/mixed_p_pal4", "models/bert_tiny", "models/magika",
    ]

    @Test(.timeLimit(.minutes(10))) func everyDamageIsAnswered() async throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("coreai-fuzz-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: folder) }
        let asset = folder.appendingPathComponent("fuzzed.aimodel")
        try FileManager.default.createDirectory(at: asset, withIntermediateDirectories: true)
        var refused = 0
        for seed in 0..<Self.variants {
            let original = Self.fixtures.appendingPathComponent(Self.assets[seed % Self.assets.count])
                .appendingPathComponent("model.aimodel")
            var program = try Data(contentsOf: original.appendingPathComponent("main.mlirb"))
            var random = Random(seed: UInt64(seed))
            random.damage(&program)
            try program.write(to: asset.appendingPathComponent("main.mlirb"))
            try Data(Digest(of: Bytes(copying: program)).bytes).write(to: asset.appendingPathComponent("main.hash"))
            try? FileManager.default.removeItem(at: asset.appendingPathComponent("metadata.json"))
            try FileManager.default.copyItem(
                at: original.appendingPathComponent("metadata.json"), to: asset.appendingPathComponent("metadata.json"))

            let before = Memory.resident
            Memory.resetPeak()
            do {
                let model = try await AIModel(contentsOf: asset, options: .default)
                for name in model.functionNames { _ = model.functionDescriptor(for: name) }
            } catch let error as AssetError {
                refused += 1
                let text = error.errorDescription ?? ""
                #expect(text.contains("fuzzed.aimodel"), "seed \(seed): \(text)")
                #expect(!(error.debugMessage ?? "").isEmpty, "seed \(seed)")
            } catch let error as AIModelError {
                #expect(error.message.contains("fuzzed.aimodel"), "seed \(seed): \(error)")
            } catch {
                Issue.record("seed \(seed): \(type(of: error)): \(error)")
            }
            let grown = Memory.peak - before
            #expect(grown < Self.memoryLimit + program.count, "seed \(seed): \(grown >> 20) MiB more")
        }
        // The mutations must bite, or this test says nothing.
        #expect(refused > Self.variants / 4, "only \(refused) of \(Self.variants) were refused")
    }
}

/// A seeded generator of damage.
private struct Random {
    private var state: UInt64
    init(seed: UInt64) { state = seed &* 0x2545_f491_4f6c_dd1d &+ 0x9e37_79b9_7f4a_7c15 }

    mutating func next() -> UInt64 {
        state &+= 0x9e37_79b9_7f4a_7c15
        var z = state
        z = (z ^ (z >> 30)) &* 0xbf58_476d_1ce4_e5b9
        z = (z ^ (z >> 27)) &* 0x94d0_49bb_1331_11eb
        return z ^ (z >> 31)
    }

    mutating func below(_ bound: Int) -> Int { Int(next() % UInt64(max(1, bound))) }

    mutating func damage(_ data: inout Data) {
        switch below(8) {
        case 0: data = data.prefix(below(data.count))
        case 1: data.removeSubrange(range(in: data, atMost: 64))
        case 2: data.insert(contentsOf: (0..<below(32)).map { _ in UInt8(truncatingIfNeeded: next()) }, at: below(data.count))
        case 3:
            for index in range(in: data, atMost: 32) { data[index] = 0xff }
        case 4:
            let from = range(in: data, atMost: 64)
            let part = Data(data[from])
            data.replaceSubrange(from, with: part.reversed())
        default:
            // Small programs sit at both ends of a file, large constants in the middle: aim at the ends.
            for _ in 0...below(6) {
                let span = min(data.count, 4096)
                let index = below(2) == 0 ? below(span) : data.count - 1 - below(span)
                data[index] = below(3) == 0 ? [0, 1, 0x7f, 0x80, 0xff][below(5)] : UInt8(truncatingIfNeeded: next())
            }
        }
    }

    private mutating func range(in data: Data, atMost limit: Int) -> Range<Int> {
        let start = below(data.count)
        return start..<min(data.count, start + 1 + below(limit))
    }
}

/// This process's memory, from /proc.
private enum Memory {
    static var resident: Int { field("VmRSS") }
    static var peak: Int { field("VmHWM") }
    static func resetPeak() { try? "5".write(toFile: "/proc/self/clear_refs", atomically: false, encoding: .utf8) }

    private static func field(_ name: String) -> Int {
        let text = (try? String(contentsOfFile: "/proc/self/status", encoding: .utf8)) ?? ""
        let line = text.split(separator: "\n").first { $0.hasPrefix(name) } ?? ""
        return (line.split(whereSeparator: \.isWhitespace).dropFirst().first.flatMap { Int($0) } ?? 0) << 10
    }
}
