import CoreAI
import Foundation
import Testing

/// User cases 8, 10 and 13: mistakes are told in useful words, and nothing is broken by them.
@Suite struct MistakeTests {
    /// UC-08, the half that concerns the model API: a bundle directory where a model is expected.
    @Test func aBundleInPlaceOfAModelNamesThePathThatWorks() async throws {
        let bundle = Models.folder.appendingPathComponent(
            "models/qwen3_tiny_bundle/bundle/qwen3_tiny_dynamic")
        do {
            _ = try await AIModel(contentsOf: bundle)
            Issue.record("a bundle was loaded as a model")
        } catch {
            let text = error.localizedDescription
            #expect(text.contains(bundle.lastPathComponent), "\(text)")
            #expect(text.contains("qwen3_tiny_dynamic.aimodel"), "\(text)")
            #expect(!text.lowercased().contains("version"), "\(text)")
            #expect(!text.lowercased().contains("unsupported"), "\(text)")
        }
    }

    /// UC-10, first half: a truncated program fails with words, and loads once it is complete.
    @Test func halfAFileFailsAndTheWholeFileLoads() async throws {
        let copy = try Models.scratchCopy(of: "uc01_rounding")
        defer { try? FileManager.default.removeItem(at: copy.deletingLastPathComponent()) }
        let program = copy.appendingPathComponent("main.mlirb")
        let whole = try Data(contentsOf: program)
        let part = whole.prefix(whole.count * 6 / 10)
        try part.write(to: program)
        do {
            _ = try await AIModel(contentsOf: copy)
            Issue.record("a truncated program was loaded")
        } catch let error as AssetError {
            let text = error.errorDescription ?? ""
            #expect(text.contains("main.mlirb"), "\(text)")
            #expect(text.contains("expected") && text.contains("found"), "\(text)")
        }
        try whole.write(to: program)
        let model = try await AIModel(contentsOf: copy)
        let main = try #require(try model.loadFunction(named: "main"))
        var outputs = try await main.run(inputs: [
            "x": NDArray(scalars: [Float](repeating: 2.5, count: 9), shape: [9])
        ])
        let foundFloat = outputs.elements("floor", Float.self)
        #expect(foundFloat == [Float](repeating: 2, count: 9))
    }

    /// UC-13, without the state: every mistake is a `RunError` with fields, before any computation.
    @Test func wrongArrayUsefulWords() async throws {
        let model = try await AIModel(contentsOf: Models.url("uc13_arguments"))
        let main = try #require(try model.loadFunction(named: "main"))
        let tokens = NDArray(scalars: [1, 2, 3, 4, 5] as [Int32], shape: [1, 5])
        let image = NDArray(shape: [1, 3, 8, 8], scalarType: .float16)
        let mistakes: [(inputs: [String: NDArray], kind: RunError.Kind, argument: String, words: [String])] = [
            (
                ["tokens": NDArray(scalars: [1, 2] as [Int64], shape: [1, 2]), "image": image],
                .scalarType, "tokens",
                ["int32", "int64"]
            ),
            (
                ["tokens": tokens, "image": NDArray(shape: [1, 3, 8, 8], scalarType: .float32)],
                .scalarType, "image", ["float16", "float32"]
            ),
            (
                ["tokens": tokens, "image": NDArray(shape: [1, 8, 8, 3], scalarType: .float16)], .shape,
                "image", ["1, 3, 8, 8", "1, 8, 8, 3"]
            ),
            (
                ["tokens": tokens, "image": NDArray(shape: [3, 8, 8], scalarType: .float16)], .rank,
                "image", ["1, 3, 8, 8", "3, 8, 8"]
            ),
            (["tokens": tokens], .missing, "image", ["float16"]),
            (
                ["tokens": tokens, "image": image, "imgae": image], .unknown, "imgae",
                ["'tokens'", "'image'"]
            ),
        ]
        for mistake in mistakes {
            do {
                _ = try await main.run(inputs: mistake.inputs)
                Issue.record("no error for a mistake in '\(mistake.argument)'")
            } catch let error as RunError {
                #expect(error.kind == mistake.kind, "\(error)")
                #expect(error.function == "main")
                #expect(error.argument == mistake.argument)
                for word in ["main", mistake.argument] + mistake.words {
                    #expect(error.message.contains(word), "\(error)")
                }
            }
            var outputs = try await main.run(inputs: ["tokens": tokens, "image": image])
            let foundInt32 = outputs.elements("next", Int32.self)
            #expect(foundInt32 == [2, 3, 4, 5, 6])
        }
    }

    /// UC-13, the state: wrong ones are named before anything is touched, and right ones are updated in place.
    @Test func wrongStateUsefulWords() async throws {
        let asset = Models.folder.appendingPathComponent("ops/state_accumulate/model.aimodel")
        let model = try await AIModel(contentsOf: asset)
        let main = try #require(try model.loadFunction(named: "main"))
        let x = NDArray(scalars: [1, 2, 3, 4] as [Float], shape: [4])
        var right = NDArray(scalars: [10, 20, 30, 40] as [Float], shape: [4])
        var wrong = NDArray(shape: [4], scalarType: .float16)

        func kind(_ run: () async throws -> Void) async -> (kind: RunError.Kind, argument: String, message: String)? {
            do {
                try await run()
                return nil
            } catch let error as RunError {
                return (error.kind, error.argument, error.message)
            } catch {
                return nil
            }
        }
        let mistyped = await kind {
            var states = InferenceFunction.MutableViews()
            states.insert(&wrong, for: "acc")
            _ = try await main.run(inputs: ["x": x], states: states)
        }
        #expect(mistyped?.kind == .scalarType && mistyped?.argument == "acc")
        #expect(mistyped?.message.contains("float16") == true && mistyped?.message.contains("main") == true)
        let missing = await kind { _ = try await main.run(inputs: ["x": x]) }
        #expect(missing?.kind == .missing && missing?.argument == "acc")

        for turn in 1...2 {
            var states = InferenceFunction.MutableViews()
            states.insert(&right, for: "acc")
            _ = try await main.run(inputs: ["x": x], states: states)
            let held = right.elements(Float.self)
            let step = Float(turn)
            #expect(held == [10 + step, 20 + 2 * step, 30 + 3 * step, 40 + 4 * step], "after turn \(turn)")
        }
    }
}
