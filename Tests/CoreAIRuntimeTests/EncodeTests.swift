import CoreAIRuntime
import CoreVideo
import Metal
import Synchronization
import Testing

@Suite struct EncodeTests {
    typealias AsyncValue = InferenceFunction.AsyncValue
    let adder = InferenceFunction(executor: makeAdder())
    let accumulator = InferenceFunction(executor: makeAccumulator())

    @Test func resultsFeedTheNextEncode() async throws {
        let stream = ComputeStream()
        let one = AsyncValue(floats([1, 1], [1, 2]))
        var value = AsyncValue(floats([0, 0], [1, 2]))
        for _ in 0..<50 {
            let outputs = try adder.encode(inputs: ["a": value, "b": one], to: stream)
            value = try #require(outputs["y"])
        }
        let result = try #require(try await value.ndArray)
        #expect(elements(result) == [50, 50])
        #expect(value.kind == .ndArray)
        let image = try await value.pixelBuffer
        #expect(image == nil ? true : false)
    }

    @Test func mutableValueIsWrittenInOrder() async throws {
        let stream = ComputeStream()
        var total = InferenceFunction.AsyncMutableValue(floats([0, 0, 0]))
        var steps: [AsyncValue] = []
        for i in 1...20 {
            var states = InferenceFunction.AsyncMutableViews()
            states.insert(&total, for: "total")
            let outputs = try accumulator.encode(
                inputs: ["x": AsyncValue(floats([1, 0, Float(i)]))], states: states, to: stream)
            steps.append(try #require(outputs["y"]))
        }
        for (i, step) in steps.enumerated() {
            let y = try #require(try await step.ndArray)
            #expect(elements(y)[0] == Float(i + 1))
        }
        let end = try #require(try await total.ndArray)
        #expect(elements(end) == [20, 0, 210])
    }

    @Test func mutableValueIsOrderedAcrossStreams() async throws {
        let streams = [ComputeStream(), ComputeStream(), ComputeStream()]
        let type = array(.float32, [1])
        // s = s * 2 + x is sensitive to order and slow at first.
        let function = InferenceFunction(
            executor: FakeExecutor(
                InferenceFunctionDescriptor(name: "f", inputs: [("x", type)], states: [("s", type)], outputs: [])
            ) { call in
                call.states[0].floats[0] = call.states[0].floats[0] * 2 + call.inputs[0].floats[0]
            })
        var state = InferenceFunction.AsyncMutableValue(floats([0]))
        var expected: Float = 0
        for i in 0..<20 {
            var states = InferenceFunction.AsyncMutableViews()
            states.insert(&state, for: "s")
            let x = Float(i % 3)
            expected = expected * 2 + x
            _ = try function.encode(inputs: ["x": AsyncValue(floats([x]))], states: states, to: streams[i % 3])
        }
        let value = AsyncValue(state)
        let result = try #require(try await value.ndArray)
        #expect(elements(result) == [expected])
    }

    @Test func outputViewIsWrittenAndLeftOut() async throws {
        let buffer = try #require(MTLCreateSystemDefaultDevice()?.makeBuffer(length: 64, options: []))
        let queue = try #require(MTLCreateSystemDefaultDevice()?.makeCommandQueue())
        let stream = ComputeStream(commandQueue: queue)
        var y = InferenceFunction.AsyncMutableValue(
            unsafeBuffer: buffer, byteOffset: 16, scalarType: .float32, shape: [1, 2])
        var views = InferenceFunction.AsyncMutableViews()
        views.insert(&y, for: "y")
        let a = AsyncValue(floats([1, 2], [1, 2]))
        let first = try adder.encode(inputs: ["a": a, "b": a], outputViews: views, to: stream)
        #expect(first.isEmpty)
        // Read from the buffer when its turn comes.
        let read = AsyncValue(unsafeBuffer: buffer, byteOffset: 16, scalarType: .float32, shape: [1, 2])
        let second = try adder.encode(inputs: ["a": read, "b": a], to: stream)
        await stream.currentWorkCompleted()
        #expect(buffer.contents().load(fromByteOffset: 20, as: Float.self) == 4)
        let sum = try #require(try await second["y"]?.ndArray)
        #expect(elements(sum) == [3, 6])
        let copy = try #require(try await y.ndArray)
        #expect(elements(copy) == [2, 4] && address(copy) != UInt(bitPattern: buffer.contents() + 16))
    }

    @Test func wrongArgumentsThrowAtOnce() async throws {
        let stream = ComputeStream()
        let a = AsyncValue(floats([1], [1, 1]))
        #expect(throws: RunError.self) { _ = try adder.encode(inputs: ["a": a], to: stream) }
        #expect(throws: RunError.self) {
            _ = try adder.encode(inputs: ["a": a, "b": AsyncValue(floats([1]))], to: stream)
        }
        let type = array(.float32, [-1, -1])
        let identity = InferenceFunction(
            executor: FakeExecutor(
                InferenceFunctionDescriptor(name: "f", inputs: [("x", type)], outputs: [("y", type)])
            ) {
                _ = try $0.output(0, [1, 4])
            })
        let fixed = InferenceFunction(
            executor: FakeExecutor(
                InferenceFunctionDescriptor(name: "g", inputs: [("x", array(.float32, [1, 3]))], outputs: [])
            ) { _ in })
        let pending = try #require(try identity.encode(inputs: ["x": a], to: stream)["y"])
        // Its size is not known yet; its scalar type and rank are.
        _ = try fixed.encode(inputs: ["x": pending], to: stream)
        let narrow = InferenceFunction(
            executor: FakeExecutor(
                InferenceFunctionDescriptor(name: "h", inputs: [("x", array(.float16, [1, -1]))], outputs: [])
            ) { _ in })
        #expect(throws: RunError.self) { _ = try narrow.encode(inputs: ["x": pending], to: stream) }
        await stream.currentWorkCompleted()
    }

    @Test func failuresSurfaceFromTheValues() async throws {
        let stream = ComputeStream()
        let a = AsyncValue(floats([1], [1, 1]))
        let failed = try #require(
            try adder.encode(inputs: ["a": a, "b": AsyncValue(floats([1, 2], [1, 2]))], to: stream)["y"])
        let dependent = try #require(try adder.encode(inputs: ["a": a, "b": failed], to: stream)["y"])
        let independent = try #require(try adder.encode(inputs: ["a": a, "b": a], to: stream)["y"])
        await #expect(throws: RunError.self) { _ = try await failed.ndArray }
        await #expect(throws: RunError.self) { _ = try await dependent.ndArray }
        let sum = try #require(try await independent.ndArray)
        #expect(elements(sum) == [2])
        await stream.currentWorkCompleted()
    }

    @Test func runAndEncodeMix() async throws {
        let stream = ComputeStream()
        let a = floats([1, 2], [1, 2])
        let y = try #require(try adder.encode(inputs: ["a": AsyncValue(a), "b": AsyncValue(a)], to: stream)["y"])
        let sum = try #require(try await y.ndArray)
        var outputs = try await adder.run(inputs: ["a": sum, "b": a])
        #expect(elements(outputs.remove("y")!.ndArray!) == [3, 6])
    }

    @Test func mutableValueOfADescriptor() async throws {
        let value = InferenceFunction.AsyncMutableValue(descriptor: array(.float32, [2]))
        let zeros = try #require(try await value.ndArray)
        #expect(elements(zeros) == [0, 0])
        let image = InferenceFunction.AsyncMutableValue(
            descriptor: .image(ImageDescriptor(height: 2, width: 3, pixelFormatType: kCVPixelFormatType_OneComponent8)))
        let pixels = try #require(try await image.pixelBuffer)
        #expect(pixels.width == 3 && pixels.height == 2)
    }
}
