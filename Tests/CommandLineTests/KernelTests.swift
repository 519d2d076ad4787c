import Foundation
import Testing

private let product = fixtures.appendingPathComponent("ops/matmul/model.aimodel").path
private let encoder = fixtures.appendingPathComponent("models/bert_tiny/model.aimodel").path

/// How people learn what runs, and what it takes.
@Suite struct KernelTests {
    @Test func aPlanListsKernelsAndTheGraph() throws {
        let kernels = try Tool.run("plan", encoder, "--kernels")
        #expect(kernels.status == 0)
        for part in ["segment", "attention + mask", "matmul packed + bias + gelu", "layer_norm", "float32[1, 32, 64]"] {
            #expect(kernels.output.contains(part), "\(part)")
        }
        let graph = try Tool.run("plan", product, "--graph")
        #expect(graph.status == 0 && graph.output.contains("graph \"main\" {"))
        #expect(!kernels.output.contains("graph \"main\" {"))
    }

    /// Heads that a decoder repeats are copied as blocks, its cache grows where it lies.
    @Test func aDecoderMovesBlocks() throws {
        let decoder = fixtures.appendingPathComponent("models/qwen3_tiny_static_cache/model.aimodel").path
        let kernels = try Tool.run("plan", decoder, "--kernels").output
        #expect(kernels.contains("  take  ") && kernels.contains("slice_update in place"))
        #expect(!kernels.contains("gather_along_axis"))
    }

    @Test func aProfileSharesTheTimeOut() throws {
        let text = try Tool.run("bench", encoder, "--repeat", "3", "--profile")
        #expect(text.status == 0 && text.output.contains("share") && text.output.contains("attention + mask"))
        let json = try Tool.run("bench", encoder, "--repeat", "3", "--profile", "--json").output
        let report = try #require(try JSONSerialization.jsonObject(with: Data(json.utf8)) as? [String: Any])
        let entries = try #require(report["profile"] as? [[String: Any]])
        #expect(entries.contains { $0["kernel"] as? String == "layer_norm" && $0["calls"] as? Int == 5 })
        let seconds = entries.compactMap { $0["seconds"] as? Double }
        #expect(seconds == seconds.sorted(by: >) && seconds.allSatisfy { $0 > 0 })
    }

    @Test func theLevelIsShownAndAnUnknownOneRefused() throws {
        let capped = try Tool.run(["bench", product, "--repeat", "1"], environment: ["COREAI_CPU_LEVEL": "plain"])
        #expect(capped.status == 0)
        #expect(capped.output.contains("kernels") && capped.output.contains("plain"))
        let unknown = try Tool.run(["run", product], environment: ["COREAI_CPU_LEVEL": "avx3"])
        #expect(unknown.status != 0)
        #expect(unknown.errors.contains("COREAI_CPU_LEVEL is 'avx3', expected one of"))
        let empty = try Tool.run(["run", product], environment: ["COREAI_CPU_LEVEL": "", "COREAI_CPU_FUSION": ""])
        #expect(empty.status == 0)
        let odd = try Tool.run(["run", product], environment: ["COREAI_CPU_FUSION": "yes"])
        #expect(odd.status != 0 && odd.errors.contains("COREAI_CPU_FUSION is 'yes', expected 0 or 1"))
    }

    /// Every operation by itself gives as many calls as there are operations that compute.
    @Test func fusionCanBeTurnedOff() throws {
        let environment = ["COREAI_CPU_FUSION": "0"]
        let alone = try Tool.run(["plan", encoder, "--kernels"], environment: environment)
        #expect(alone.status == 0 && !alone.output.contains("layer_norm") && alone.output.contains("reduce_mean"))
    }
}
