import CoreAIGraph
import CoreAIOps
import CoreAIRuntime
import Glibc
import Synchronization
import Testing

@Suite struct RunTests {
    let adder = InferenceFunction(executor: makeAdder())
    let accumulator = InferenceFunction(executor: makeAccumulator())

    @Test func runWithDictionary() async throws {
        var outputs = try await adder.run(inputs: ["a": floats([1, 2], [1, 2]), "b": floats([10, 20], [1, 2])])
        #expect(outputs.count == 1 && Array(outputs.names) == ["y"])
        let value = outputs.remove("y")?.ndArray
        let y = try #require(value)
        #expect(y.shape == [1, 2] && y.scalarType == .float32)
        #expect(elements(y) == [11, 22])
    }

    @Test func runWithInputs() async throws {
        let a = floats([1, 2, 3, 4], [2, 2])
        var inputs = InferenceFunction.Inputs()
        inputs.insert(a, for: "a")
        inputs.insert(a.view(as: Float.self), for: "b")
        var outputs = try await adder.run(inputs: inputs)
        #expect(elements(outputs.remove("y")!.ndArray!) == [2, 4, 6, 8])
        inputs.insert(a.rawView().slice(at: [.all, 1]), for: "a")
        inputs.insert(a.rawView().slice(at: [.all, 0]), for: "b")
        var columns = try await adder.run(inputs: inputs)
        #expect(elements(columns.remove("y")!.ndArray!) == [3, 7])
    }

    @Test func outputsAreTakenOnce() async throws {
        var outputs = try await adder.run(inputs: ["a": floats([1], [1, 1]), "b": floats([1], [1, 1])])
        #expect(outputs.remove("z") == nil ? true : false)
        let first = outputs.remove("y") != nil
        let second = outputs.remove("y") != nil
        #expect(first && !second && outputs.count == 0 && outputs.names.isEmpty)
    }

    /// Each run computes on a thread of its own: no more are under way than threads may compute.
    @Test func runsBeyondTheNumberOfThreadsWaitInLine() async throws {
        let running = Atomic<Int>(0)
        let most = Atomic<Int>(0)
        let type = array(.float32, [1])
        let function = InferenceFunction(
            executor: FakeExecutor(InferenceFunctionDescriptor(name: "wait", inputs: [("x", type)], outputs: [])) { _ in
                most.max(running.add(1, ordering: .relaxed).newValue, ordering: .relaxed)
                usleep(1000)
                running.subtract(1, ordering: .relaxed)
            })
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<64 { group.addTask { _ = try await function.run(inputs: ["x": floats([1])]) } }
            try await group.waitForAll()
        }
        #expect((1...InferenceFunction.processorThreads).contains(most.load(ordering: .relaxed)))
    }

    @Test func statesAreUpdatedInPlace() async throws {
        var total = floats([0, 0, 0])
        let before = address(total)
        for _ in 0..<2 {
            var states = InferenceFunction.MutableViews()
            states.insert(&total, for: "total")
            var outputs = try await accumulator.run(inputs: ["x": floats([1, 2, 3])], states: states)
            _ = outputs.remove("y")
        }
        #expect(elements(total) == [2, 4, 6])
        #expect(address(total) == before)
    }

    @Test func stateOfASharedArrayLeavesTheCopyAlone() async throws {
        let original = floats([0, 0, 0])
        var total = original
        var states = InferenceFunction.MutableViews()
        states.insert(&total, for: "total")
        _ = try await accumulator.run(inputs: ["x": floats([1, 2, 3])], states: states)
        #expect(elements(original) == [0, 0, 0] && elements(total) == [1, 2, 3])
    }

    @Test func stridedStateIsWrittenBack() async throws {
        var table = floats([0, 100, 0, 200, 0, 300], [3, 2])
        var states = InferenceFunction.MutableViews()
        let column = InferenceFunction(executor: makeColumnAccumulator())
        states.insert(table.mutableRawView().slice(at: [.all, 1]), for: "total")
        _ = try await column.run(inputs: ["x": floats([1, 2, 3], [3, 1])], states: states)
        #expect(elements(table) == [0, 101, 0, 202, 0, 303])
    }

    @Test func classStoredStates() async throws {
        let cache = Cache()
        try await cache.step(accumulator)
        try await cache.step(accumulator)
        #expect(elements(cache.total) == [2, 2, 2])
    }

    // MARK: Layouts

    @Test func anyInputLayoutGivesTheSameResult() async throws {
        let dense = floats((0..<12).map { Float($0) }, [4, 3])
        var padded = NDArray(shape: [4, 3], scalarType: .float32, strides: [5, 1])
        var transposed = NDArray(shape: [4, 3], scalarType: .float32, strides: [1, 4])
        var interleaved = NDArray(
            shape: [4, 3], scalarType: .float32, strides: [9, 3],
            interleaveLayout: NDArray.InterleaveLayout(dimension: 0, factor: 3))
        padded.fill()
        transposed.fill()
        interleaved.fill()
        for other in [padded, transposed, interleaved] {
            var outputs = try await adder.run(inputs: ["a": dense, "b": other])
            #expect(elements(outputs.remove("y")!.ndArray!) == (0..<12).map { Float(2 * $0) })
        }
    }

    @Test func denseInputsAreNotCopied() async throws {
        let input = floats([1, 2, 3])
        let expected = address(input)
        let type = array(.float32, [3])
        let function = InferenceFunction(
            executor: FakeExecutor(InferenceFunctionDescriptor(name: "f", inputs: [("x", type)], outputs: [])) { call in
                #expect(UInt(bitPattern: call.inputs[0].base) == expected)
            })
        _ = try await function.run(inputs: ["x": input])
    }

    @Test func unalignedInputIsCopied() async throws {
        var bytes = [UInt8](repeating: 0, count: 13)
        bytes.withUnsafeMutableBytes { $0.storeBytes(of: 2, toByteOffset: 1, as: Float.self) }
        var inputs = InferenceFunction.Inputs()
        inputs.insert(
            NDArray.RawView(bytes: bytes.span.bytes, byteOffset: 1, scalarType: .float32, shape: [1, 3]), for: "a")
        let zeros = floats([0, 0, 0], [1, 3])
        inputs.insert(zeros, for: "b")
        var outputs = try await adder.run(inputs: inputs)
        #expect(elements(outputs.remove("y")!.ndArray!) == [2, 0, 0])
    }

    @Test(arguments: ScalarType.allCases.filter(\.isSubByte))
    func subByteValuesGoThrough(scalarType: ScalarType) async throws {
        // y[i] = x[i] + 1 wrapped to the type, s = x reversed in each row, over [2, 5].
        let type = array(scalarType, [2, 5])
        let width = scalarType.bitWidth
        let function = InferenceFunction(
            executor: FakeExecutor(
                InferenceFunctionDescriptor(
                    name: "f", inputs: [("x", type)], states: [("s", type)], outputs: [("y", type)])
            ) { call in
                let x = call.inputs[0].pointer(as: UInt8.self)
                let s = call.states[0].pointer(as: UInt8.self)
                let y = try call.output(0, [2, 5]).pointer(as: UInt8.self)
                for i in 0..<10 {
                    let expected = i & (1 << width - 1)
                    let negative = scalarType.isSignedInteger && expected >> (width - 1) == 1
                    #expect(x[i] == UInt8(truncatingIfNeeded: negative ? expected - 1 << width : expected))
                    y[i] = x[i] &+ 1
                    s[i] = x[i / 5 * 5 + 4 - i % 5]
                }
            })
        var x = NDArray(shape: [2, 5], scalarType: scalarType)
        x.writeBits { $0 }
        var s = NDArray(shape: [2, 5], scalarType: scalarType)
        var states = InferenceFunction.MutableViews()
        states.insert(&s, for: "s")
        var outputs = try await function.run(inputs: ["x": x], states: states)
        let mask = 1 << width - 1
        #expect(outputs.remove("y")!.ndArray!.bits() == (0..<10).map { ($0 + 1) & mask })
        #expect(s.bits() == (0..<10).map { ($0 / 5 * 5 + 4 - $0 % 5) & mask })
    }

    @Test func zeroSizesAndScalarsRun() async throws {
        var outputs = try await adder.run(inputs: ["a": floats([], [0, 3]), "b": floats([], [0, 3])])
        #expect(outputs.remove("y")!.ndArray!.shape == [0, 3])
        let type = array(.float32, [])
        let double = InferenceFunction(
            executor: FakeExecutor(
                InferenceFunctionDescriptor(name: "f", inputs: [("x", type)], outputs: [("y", type)])
            ) {
                try $0.output(0, []).floats[0] = $0.inputs[0].floats[0] * 2
            })
        var scalar = try await double.run(inputs: ["x": floats([4], [])])
        #expect(elements(scalar.remove("y")!.ndArray!) == [8])
    }

    // MARK: Output views

    @Test func outputViewIsWrittenAndLeftOut() async throws {
        var y = floats([0, 0], [1, 2])
        let before = address(y)
        var views = InferenceFunction.MutableViews()
        views.insert(&y, for: "y")
        let outputs = try await adder.run(
            inputs: ["a": floats([1, 2], [1, 2]), "b": floats([3, 4], [1, 2])], outputViews: views)
        #expect(outputs.count == 0)
        #expect(elements(y) == [4, 6] && address(y) == before)
    }

    @Test func stridedOutputView() async throws {
        var table = floats([Float](repeating: -1, count: 6), [2, 3])
        var views = InferenceFunction.MutableViews()
        views.insert(table.mutableView(as: Float.self).slice(at: [.all, 0..<2]), for: "y")
        let a = floats([1, 2, 3, 4], [2, 2])
        _ = try await adder.run(inputs: ["a": a, "b": a], outputViews: views)
        #expect(elements(table) == [2, 4, -1, 6, 8, -1])
    }

    @Test func outputViewOfAnotherShapeThrows() async throws {
        var y = floats([5, 5, 5], [1, 3])
        var views = InferenceFunction.MutableViews()
        views.insert(&y, for: "y")
        let a = floats([1, 2], [1, 2])
        do {
            _ = try await adder.run(inputs: ["a": a, "b": a], outputViews: views)
            Issue.record("accepted a view of another shape")
        } catch let error as RunError {
            #expect(error.kind == .shape && error.argument == "y" && error.function == "add")
            #expect(error.message.contains("expected float32 [1, 2], found float32 [1, 3]"))
        }
        #expect(elements(y) == [5, 5, 5])
    }

    // MARK: Concurrency

    @Test func concurrentRunsDoNotDisturbEachOther() async throws {
        let adder = adder
        try await withThrowingTaskGroup(of: Void.self) { group in
            for i in 0..<32 {
                group.addTask {
                    for j in 0..<20 {
                        let a = floats([Float](repeating: Float(i), count: 64), [8, 8])
                        let b = floats([Float](repeating: Float(j), count: 64), [8, 8])
                        var outputs = try await adder.run(inputs: ["a": a, "b": b])
                        #expect(elements(outputs.remove("y")!.ndArray!).allSatisfy { $0 == Float(i + j) })
                    }
                }
            }
            try await group.waitForAll()
        }
    }

    @Test func cancelledRunThrowsAndTheFunctionStaysUsable() async throws {
        let type = array(.float32, [1])
        let (started, start) = AsyncStream.makeStream(of: Void.self)
        let executor = FakeExecutor(
            InferenceFunctionDescriptor(name: "f", inputs: [("x", type)], outputs: [("y", type)])
        ) { call in
            if call.inputs[0].floats[0] < 0 {
                start.yield()
                while !call.isCancelled() {}
                throw CancellationError()
            }
            try call.output(0, [1]).floats[0] = 1
        }
        let function = InferenceFunction(executor: executor)
        let task = Task { _ = try await function.run(inputs: ["x": floats([-1])]) }
        for await _ in started { break }
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
        var outputs = try await function.run(inputs: ["x": floats([1])])
        #expect(outputs.remove("y") != nil ? true : false)

        let runs = executor.runs
        let late = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            _ = try await function.run(inputs: ["x": floats([1])])
        }
        await #expect(throws: CancellationError.self) { try await late.value }
        #expect(executor.runs == runs)
    }

    @Test func errorsOfTheComputationAreThrown() async throws {
        let error = await #expect(throws: RunError.self) {
            _ = try await adder.run(inputs: ["a": floats([1], [1, 1]), "b": floats([1, 2], [1, 2])])
        }
        #expect(error?.kind == .sizesDisagree)
    }

    #if DEBUG
        @Test func mutableAccessDuringARunTraps() async {
            let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
                let type = array(.float32, [1])
                let (started, start) = AsyncStream.makeStream(of: Void.self)
                let function = InferenceFunction(
                    executor: FakeExecutor(
                        InferenceFunctionDescriptor(name: "f", inputs: [], states: [("s", type)], outputs: [])
                    ) { call in
                        start.yield()
                        while !call.isCancelled() {}
                    })
                let state = StateBox()
                let task = Task { try await state.run(function) }
                for await _ in started { break }
                _ = state.array.mutableRawView().scalarType
                task.cancel()
            }
            let text = String(decoding: result?.standardErrorContent ?? [], as: UTF8.self)
            #expect(text.contains("while a run holds it"))
        }
    #endif
}

private final class StateBox: @unchecked Sendable {
    var array = floats([0])
    func run(_ function: InferenceFunction) async throws {
        var states = InferenceFunction.MutableViews()
        states.insert(&array, for: "s")
        _ = try await function.run(inputs: [:], states: states)
    }
}

private final class Cache {
    var total = floats([0, 0, 0])

    func step(_ function: InferenceFunction) async throws {
        var states = InferenceFunction.MutableViews()
        states.insert(&total, for: "total")
        var outputs = try await function.run(inputs: ["x": floats([1, 1, 1])], states: states)
        #expect(elements(outputs.remove("y")!.ndArray!) == elements(total))
    }
}

private func makeColumnAccumulator() -> FakeExecutor {
    let type = array(.float32, [3, 1])
    return FakeExecutor(
        InferenceFunctionDescriptor(name: "f", inputs: [("x", type)], states: [("total", type)], outputs: [])
    ) { call in
        for i in 0..<3 { call.states[0].floats[i] += call.inputs[0].floats[i] }
    }
}

extension NDArray {
    fileprivate mutating func fill() {
        var view = mutableView(as: Float.self)
        view.copyElements(from: (0..<12).map { Float($0) })
    }

    /// Writes `value(i)` to the elements of a packed [2, 5] array.
    fileprivate mutating func writeBits(_ value: (Int) -> Int) {
        let width = scalarType.bitWidth
        let rowBits = strides[0] * width
        mutableRawView().withUnsafeMutableBytes { start, _, _ in
            let bytes = start.assumingMemoryBound(to: UInt8.self)
            for i in 0..<10 {
                for bit in 0..<width where value(i) >> bit & 1 == 1 {
                    let position = i / 5 * rowBits + i % 5 * width + bit
                    bytes[position / 8] |= 1 << UInt8(position % 8)
                }
            }
        }
    }

    fileprivate func bits() -> [Int] {
        let width = scalarType.bitWidth
        let rowBits = strides[0] * width
        return rawView().withUnsafeBytes { start, _, _ in
            let bytes = start.assumingMemoryBound(to: UInt8.self)
            return (0..<10).map { i in
                (0..<width).reduce(0) { value, bit in
                    let position = i / 5 * rowBits + i % 5 * width + bit
                    return value | Int(bytes[position / 8] >> UInt8(position % 8) & 1) << bit
                }
            }
        }
    }
}
