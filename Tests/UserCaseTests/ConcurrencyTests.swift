import CoreAI
import Foundation
import Testing

/// One function, many tasks; and tasks that change their mind.
@Suite struct ConcurrencyTests {
    static func model(_ name: String) -> URL {
        Models.folder.appendingPathComponent(name).appendingPathComponent("model.aimodel")
    }

    /// Runs at the same time answer what runs one after another answer, to the bit.
    @Test(arguments: ["models/ppocr_cls", "models/vit_small_64"])
    func runsAtTheSameTimeEqualSerialRuns(name: String) async throws {
        let model = try await AIModel(contentsOf: Self.model(name))
        let main = try #require(try model.loadFunction(named: "main"))
        let input = main.descriptor.inputNames[0]
        let inputs = try (0..<32).map { seed -> NDArray in
            guard case .ndArray(let descriptor)? = main.descriptor.inputDescriptor(of: input) else {
                throw Models.MissingFunction(name: name)
            }
            let shape = descriptor.shape.map { max($0, 1) }
            let count = shape.reduce(1, *)
            return NDArray(scalars: (0..<count).map { Float(($0 * 31 + seed * 17) % 97) / 48 - 1 }, shape: shape)
        }
        let output = main.descriptor.outputNames[0]
        var serial: [[Float]] = []
        for array in inputs {
            var outputs = try await main.run(inputs: [input: array])
            serial.append(try outputs.array(output).elements())
        }
        let together = try await withThrowingTaskGroup(of: (Int, [Float]).self) { group in
            for (index, array) in inputs.enumerated() {
                group.addTask {
                    var outputs = try await main.run(inputs: [input: array])
                    return (index, try outputs.array(output).elements())
                }
            }
            return try await group.reduce(into: [Int: [Float]]()) { $0[$1.0] = $1.1 }
        }
        for (index, values) in serial.enumerated() { #expect(together[index] == values, "run \(index)") }
    }

    /// A loop of two thousand million turns ends at the step after its task is cancelled, and the function works on.
    @Test(.timeLimit(.minutes(1))) func aCancelledRunEndsAtTheNextStep() async throws {
        let model = try await AIModel(contentsOf: Self.model("ops/while_loop"))
        let main = try #require(try model.loadFunction(named: "main"))
        let x = NDArray(scalars: [1, 2, 3, 4] as [Float], shape: [4])
        let endless = Task {
            _ = try await main.run(inputs: ["n": NDArray(scalars: [Int32.max], shape: []), "x": x])
        }
        try await Task.sleep(for: .milliseconds(50))
        endless.cancel()
        await #expect(throws: CancellationError.self) { try await endless.value }
        var outputs = try await main.run(inputs: ["n": NDArray(scalars: [3 as Int32], shape: []), "x": x])
        let turns = try outputs.array("k").elements(Int32.self)
        #expect(turns == [3])
    }

    /// A task that is cancelled before it loads gets no model, and the next load works.
    @Test func aCancelledLoadThrows() async throws {
        let load = Task {
            try await Task.sleep(for: .seconds(60))
        }
        load.cancel()
        let task = Task { () -> Int in
            _ = try? await load.value
            withUnsafeCurrentTask { $0?.cancel() }
            return try await AIModel(contentsOf: Self.model("models/ppocr_cls")).functionNames.count
        }
        await #expect(throws: CancellationError.self) { try await task.value }
        let names = try await AIModel(contentsOf: Self.model("models/ppocr_cls")).functionNames
        #expect(names == ["main"])
    }

    /// A loaded function outlives its model and its file.
    @Test func aFunctionOutlivesItsModel() async throws {
        let copy = try Models.scratchCopy(of: "uc01_rounding")
        let main = try await AIModel(contentsOf: copy).loadFunction(named: "main")
        try FileManager.default.removeItem(at: copy.deletingLastPathComponent())
        let function = try #require(main)
        var outputs = try await function.run(inputs: [
            "x": NDArray(scalars: [Float](repeating: -2.5, count: 9), shape: [9])
        ])
        let floor = try outputs.array("floor").elements(Float.self)
        #expect(floor == [Float](repeating: -3, count: 9))
    }
}
