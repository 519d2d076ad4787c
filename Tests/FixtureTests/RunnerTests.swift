import CoreAIGraph
import CoreAIOps
import CoreAIRuntime
import CoreAITestSupport
import Foundation
import NumpyFiles
import Testing

/// What the runner of recorded cases lets pass, with functions whose answers are known.
@Suite struct RunnerTests {
    @Test func statesAreCarriedOverManySteps() async throws {
        let steps = (0..<4).map { index in
            """
            {"function": "count", "inputs": {}, "outputs": {}, "states": \
            \(index == 0 ? #"{"n": {"zeros": true, "dtype": "int64", "shape": [1]}}"# : #""carry""#),
             "states_after": {"n": {"file": "\(index).npy", "dtype": "int64", "shape": [1]}}}
            """
        }
        let json = #"{"asset": "none", "tolerance": {"atol": 0, "rtol": 0}, "steps": [\#(steps.joined(separator: ","))]}"#
        let right = try Folder(json, (0..<4).map { ("\($0).npy", .int64, Self.bytes([Int64($0 + 1)])) })
        #expect(try await right.failures(Counter()).isEmpty)
        let wrong = try Folder(json, (0..<4).map { ("\($0).npy", .int64, Self.bytes([Int64($0)])) })
        #expect(try await wrong.failures(Counter()).count == 4)
    }

    @Test func integersBeyondADoubleAreToldApart() async throws {
        let json = Self.oneStep("int64", #"{"atol": 1, "rtol": 1, "min_cosine": 0.5}"#)
        let answer = Self.bytes([Int64.max, 1 << 53])
        let same = try Folder(json, [("y.npy", .int64, answer)])
        #expect(try await same.failures(Answer(.int64, answer)).isEmpty)
        let near = try Folder(json, [("y.npy", .int64, Self.bytes([Int64.max, 1 << 53 + 1]))])
        let failures = try await near.failures(Answer(.int64, answer))
        #expect(failures.count == 1)
        #expect(failures.first?.message.contains("element 1 is 9007199254740992, expected 9007199254740993") == true)
    }

    @Test func anotherTypeFails() async throws {
        let json = Self.oneStep("bfloat16", #"{"atol": 1, "rtol": 1}"#)
        let bits = Self.bytes([UInt16(0x3f80), 0])
        let folder = try Folder(json, [("y.npy", .uint16, bits)])
        #expect(try await folder.failures(Answer(.bfloat16, bits)).isEmpty)
        let failures = try await folder.failures(Answer(.uint16, bits))
        #expect(failures.map(\.message) == ["is uint16, expected bfloat16"])
    }

    @Test(arguments: [
        ([1, 2], [1, 2.05], true), ([1, 2], [1, 2.5], false), ([.nan, 1], [.nan, 1], true), ([.nan, 1], [0, 1], false),
        ([0, 1], [.nan, 1], false), ([.infinity, 1], [.infinity, 1], true), ([1, 1], [.infinity, 1], false),
        ([-.infinity, 1], [.infinity, 1], false),
    ] as [([Float], [Float], Bool)])
    func floatsPassWithinTheTolerance(got: [Float], want: [Float], passes: Bool) async throws {
        let folder = try Folder(
            Self.oneStep("float32", #"{"atol": 0.001, "rtol": 0.05}"#), [("y.npy", .float32, Self.bytes(want))])
        #expect(try await folder.failures(Answer(.float32, Self.bytes(got))).isEmpty == passes)
    }

    @Test func aCosineForgivesNoWrongNorm() async throws {
        let folder = try Folder(
            Self.oneStep("float32", #"{"atol": 0, "rtol": 0, "min_cosine": 0.999}"#),
            [("y.npy", .float32, Self.bytes([3, 4] as [Float]))])
        #expect(try await folder.failures(Answer(.float32, Self.bytes([3.01, 4] as [Float]))).isEmpty)
        #expect(try await folder.failures(Answer(.float32, Self.bytes([3.3, 4.4] as [Float]))).count == 1)
        #expect(try await folder.failures(Answer(.float32, Self.bytes([4, 3] as [Float]))).count == 1)
    }

    @Test(arguments: [
        #"{"asset": "none", "steps": []}"#,
        #"{"asset": "none", "tolerance": {"atol": 0, "rtol": 0}}"#,
        #"{"asset": "none", "tolerance": {"atol": 0, "rtol": 0}, "steps": [{"function": "f", "outputs": {"y": {"dtype": "int8"}}}]}"#,
        #"{"asset": "none", "tolerance": {"atol": 0, "rtol": 0}, "steps": [{"function": "f", "outputs": {"y": "y.npy"}}]}"#,
    ]) func aCaseThatIsNotUnderstoodIsRefused(json: String) throws {
        #expect(throws: FixtureError.self) { try Folder(json, []) }
    }

    // MARK: -

    private static func oneStep(_ dtype: String, _ tolerance: String) -> String {
        """
        {"asset": "none", "tolerance": \(tolerance), "steps": [{"function": "answer", "inputs": {},
         "outputs": {"y": {"file": "y.npy", "dtype": "\(dtype)", "shape": [2]}}}]}
        """
    }

    private static func bytes<Element: BitwiseCopyable>(_ elements: [Element]) -> Data {
        elements.withUnsafeBytes { Data($0) }
    }
}

/// A case in a directory of its own.
private final class Folder {
    private let url: URL
    private let cases: [FixtureCase]

    init(_ json: String, _ files: [(name: String, type: ScalarType, bytes: Data)]) throws {
        url = FileManager.default.temporaryDirectory.appendingPathComponent("\(UUID())")
        let place = url.appendingPathComponent("case")
        try FileManager.default.createDirectory(at: place, withIntermediateDirectories: true)
        do {
            try Data(json.utf8).write(to: place.appendingPathComponent("case.json"))
            for file in files {
                let count = file.bytes.count / file.type.byteStride
                try NumpyArray(dtype: file.type, shape: [count], data: file.bytes).write(
                    to: place.appendingPathComponent(file.name))
            }
            cases = try FixtureCase.all(in: url)
        } catch {
            try? FileManager.default.removeItem(at: url)
            throw error
        }
    }

    deinit { try? FileManager.default.removeItem(at: url) }

    func failures(_ executor: some FunctionExecutor) async throws -> [Failure] {
        let fixture = try #require(cases.first)
        let function = InferenceFunction(executor: executor)
        return try await fixture.failures { _ in { _ in function } }
    }
}

/// n += 1, over int64 [1].
private final class Counter: FunctionExecutor {
    let descriptor = InferenceFunctionDescriptor(
        name: "count", inputs: [],
        states: [("n", .ndArray(NDArrayDescriptor(scalarType: .int64, shape: [1])))], outputs: [])

    func run(
        inputs: [HostTensor], states: [HostTensor], output: (Int, [Int]) throws -> HostTensor, isCancelled: () -> Bool
    ) throws {
        for state in states { state.base.assumingMemoryBound(to: Int64.self).pointee += 1 }
    }
}

/// y is what the test says.
private final class Answer: FunctionExecutor {
    let descriptor: InferenceFunctionDescriptor
    private let bytes: Data

    init(_ type: ScalarType, _ bytes: Data) {
        descriptor = InferenceFunctionDescriptor(
            name: "answer", inputs: [], outputs: [("y", .ndArray(NDArrayDescriptor(scalarType: type, shape: [2])))])
        self.bytes = bytes
    }

    func run(
        inputs: [HostTensor], states: [HostTensor], output: (Int, [Int]) throws -> HostTensor, isCancelled: () -> Bool
    ) throws {
        let y = try output(0, [2])
        bytes.withUnsafeBytes { y.base.copyMemory(from: $0.baseAddress ?? UnsafeRawPointer(y.base), byteCount: $0.count) }
    }
}
