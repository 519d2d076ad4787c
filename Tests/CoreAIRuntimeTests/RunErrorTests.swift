import CoreAIRuntime
import CoreVideo
import Foundation
import Testing

/// A wrong argument is refused before anything is computed, in words that name it.
@Suite struct RunErrorTests {
    let executor: FakeExecutor
    let function: InferenceFunction

    init() {
        executor = FakeExecutor(
            InferenceFunctionDescriptor(
                name: "main",
                inputs: [("tokens", array(.int32, [1, -1])), ("image", array(.float16, [1, 3, 8, 8]))],
                states: [("kv", array(.float16, [2, 4]))], outputs: [("logits", array(.float32, [1]))])
        ) { try $0.output(0, [1]).floats[0] = 1 }
        function = InferenceFunction(executor: executor)
    }

    struct Mistake: Sendable, CustomTestStringConvertible {
        let testDescription: String
        var tokens: (NDArray.ScalarType, [Int])? = (.int32, [1, 5])
        var image: (NDArray.ScalarType, [Int])? = (.float16, [1, 3, 8, 8])
        var kv: (NDArray.ScalarType, [Int])? = (.float16, [2, 4])
        var extra: String?
        var logits: (NDArray.ScalarType, [Int])?
        let kind: RunError.Kind
        let argument: String
        let words: [String]
    }

    static let mistakes = [
        Mistake(
            testDescription: "int64 tokens", tokens: (.int64, [1, 5]), kind: .scalarType, argument: "tokens",
            words: ["expected int32 [1, ?], found int64 [1, 5]"]),
        Mistake(
            testDescription: "fp32 image", image: (.float32, [1, 3, 8, 8]), kind: .scalarType, argument: "image",
            words: ["expected float16 [1, 3, 8, 8], found float32 [1, 3, 8, 8]"]),
        Mistake(
            testDescription: "channels last", image: (.float16, [1, 8, 8, 3]), kind: .shape, argument: "image",
            words: ["expected float16 [1, 3, 8, 8], found float16 [1, 8, 8, 3]"]),
        Mistake(
            testDescription: "fp32 state", kv: (.float32, [2, 4]), kind: .scalarType, argument: "kv",
            words: ["state", "expected float16 [2, 4], found float32 [2, 4]"]),
        Mistake(
            testDescription: "missing input", tokens: nil, kind: .missing, argument: "tokens",
            words: ["expected int32 [1, ?], found nothing"]),
        Mistake(
            testDescription: "missing state", kv: nil, kind: .missing, argument: "kv",
            words: ["state", "float16 [2, 4]"]),
        Mistake(
            testDescription: "misspelt", extra: "imgae", kind: .unknown, argument: "imgae",
            words: ["'tokens', 'image'", "did you mean 'image'?"]),
        Mistake(
            testDescription: "unknown", extra: "temperature", kind: .unknown, argument: "temperature",
            words: ["'tokens', 'image'"]),
        Mistake(
            testDescription: "rank", tokens: (.int32, [5]), kind: .rank, argument: "tokens",
            words: ["expected int32 [1, ?], found int32 [5]"]),
        Mistake(
            testDescription: "output view", logits: (.float16, [1]), kind: .scalarType, argument: "logits",
            words: ["output", "expected float32 [1], found float16 [1]"]),
    ]

    private func run(_ mistake: Mistake) async throws {
        var inputs: [String: NDArray] = [:]
        inputs["tokens"] = mistake.tokens.map { NDArray(shape: $1, scalarType: $0) }
        inputs["image"] = mistake.image.map { NDArray(shape: $1, scalarType: $0) }
        if let extra = mistake.extra { inputs[extra] = NDArray(shape: [1], scalarType: .float16) }
        var states = InferenceFunction.MutableViews()
        var kv = mistake.kv.map { NDArray(shape: $1, scalarType: $0) } ?? NDArray(shape: [], scalarType: .bool)
        if mistake.kv != nil { states.insert(&kv, for: "kv") }
        var views = InferenceFunction.MutableViews()
        var logits = mistake.logits.map { NDArray(shape: $1, scalarType: $0) } ?? NDArray(shape: [], scalarType: .bool)
        if mistake.logits != nil { views.insert(&logits, for: "logits") }
        _ = try await function.run(inputs: inputs, states: states, outputViews: views)
    }

    @Test(arguments: mistakes)
    func mistakeIsNamed(_ mistake: Mistake) async throws {
        let error = try #require(await #expect(throws: RunError.self) { try await run(mistake) })
        #expect(error.kind == mistake.kind && error.function == "main" && error.argument == mistake.argument)
        #expect(!error.expected.isEmpty && !error.found.isEmpty)
        for words in mistake.words + ["'main'", "'\(mistake.argument)'"] {
            #expect(error.message.contains(words))
        }
        #expect(error.localizedDescription == error.message && "\(error)" == error.message)
        #expect(executor.runs == 0)
        try await run(Mistake(testDescription: "none", kind: .kind, argument: "", words: []))
        #expect(executor.runs == 1)
    }

    @Test func wrongNamesSuggestOnlyNearOnes() async throws {
        let far = Mistake(testDescription: "", extra: "temperature", kind: .unknown, argument: "", words: [])
        let error = await #expect(throws: RunError.self) { try await run(far) }
        #expect(error?.message.contains("did you mean") == false)
    }

    @Test func imagesAreRefused() async throws {
        let image = try #require(
            CVMutablePixelBuffer(width: 8, height: 4, pixelFormatType: kCVPixelFormatType_32BGRA))
        let tokens = NDArray(shape: [1, 2], scalarType: .int32)
        var kv = NDArray(shape: [2, 4], scalarType: .float16)
        var inputs = InferenceFunction.Inputs()
        inputs.insert(tokens, for: "tokens")
        inputs.insert(image, for: "image")
        var states = InferenceFunction.MutableViews()
        states.insert(&kv, for: "kv")
        do {
            _ = try await function.run(inputs: inputs, states: states)
            Issue.record("accepted an image for an array")
        } catch let error as RunError {
            #expect(error.kind == .kind && error.argument == "image")
        }
        let descriptor = ImageDescriptor(height: 4, width: 8, pixelFormatType: kCVPixelFormatType_32BGRA)
        let other = InferenceFunction(
            executor: FakeExecutor(
                InferenceFunctionDescriptor(name: "see", inputs: [("image", .image(descriptor))], outputs: [])
            ) { _ in })
        var pictures = InferenceFunction.Inputs()
        pictures.insert(CVReadOnlyPixelBuffer(image), for: "image")
        do {
            _ = try await other.run(inputs: pictures)
            Issue.record("ran with an image")
        } catch let error as RunError {
            #expect(error.kind == .unsupported)
            #expect(error.message.contains("images are not supported by this runtime yet"))
            #expect(error.expected == "image 8x4 (BGRA)")
        }
    }
}
