// Lines as client code has them, compiled without any experimental feature.

import CoreAI
import Testing

/// A language model's loop with its caches stored in a class.
final class ClientEngine {
    private let function: InferenceFunction
    private var keys: NDArray
    private var values: NDArray

    init?(function: InferenceFunction) {
        let descriptor = function.descriptor
        guard descriptor.stateNames.count == 2,
            case .ndArray(let cache)? = descriptor.stateDescriptor(of: descriptor.stateNames[0])
        else { return nil }
        let shape = cache.shape.map { $0 == -1 ? 16 : $0 }
        let resolved = cache.hasDynamicShape ? cache.resolvingDynamicDimensions(shape) : cache
        self.function = function
        keys = NDArray(descriptor: resolved)
        values = NDArray(descriptor: resolved)
    }

    func step(_ token: Int32) async throws -> [Float] {
        var ids = NDArray(shape: [1, 1], scalarType: .int32)
        ids.fill(token)
        var states = InferenceFunction.MutableViews()
        states.insert(&keys, for: function.descriptor.stateNames[0])
        states.insert(&values, for: function.descriptor.stateNames[1])
        var outputs = try await function.run(
            inputs: [function.descriptor.inputNames[0]: ids], states: states)
        guard let logits = outputs.remove(function.descriptor.outputNames[0])?.ndArray else {
            return []
        }
        return logits.floats
    }

    func reset() {
        keys.zero()
        values.zero()
    }
}

/// The same on the main actor, with a place for the output.
@MainActor final class ClientViewModel {
    private var result = NDArray(shape: [2], scalarType: .float32)

    func update(_ function: InferenceFunction) async throws -> Float {
        let input = NDArray(scalars: [1, 2] as [Float], shape: [2])
        var inputs = InferenceFunction.Inputs()
        inputs.insert(input, for: "x")
        var views = InferenceFunction.MutableViews()
        views.insert(&result, for: "y")
        _ = try await function.run(inputs: inputs, outputViews: views)
        return result.floats.reduce(0, +)
    }
}

actor ClientPipeline {
    private let function: InferenceFunction
    private let stream = ComputeStream()
    init(_ function: InferenceFunction) { self.function = function }

    func run(_ array: NDArray) async throws -> NDArray? {
        let outputs = try function.encode(
            inputs: ["x": InferenceFunction.AsyncValue(array)], to: stream)
        await stream.currentWorkCompleted()
        return try await outputs["y"]?.ndArray
    }
}

/// What Apple's samples do with a prediction.
func clientRead(_ outputs: consuming InferenceFunction.Outputs) -> Float {
    var outputs = outputs
    guard let prediction = outputs.remove("y")?.ndArray else { return 0 }
    clientProcess(prediction.view())
    return clientSum(prediction.view(as: Float.self))
}

func clientProcess(_ view: borrowing NDArray.View<Float>) {}
func clientSum(_ view: borrowing NDArray.View<Float>) -> Float {
    guard let elements = view.contiguousElements else { return 0 }
    var sum: Float = 0
    for i in elements.indices { sum += elements[i] }
    return sum
}

func clientLastRow(_ logits: NDArray) -> [Float] {
    let last = logits.shape[1] - 1
    let row = logits.view(as: Float.self).slice(at: [0, last, .all])
    return row.withUnsafePointer { start, shape, strides in
        (0..<shape[2]).map { start[$0 * strides[2]] }
    }
}

extension NDArray {
    var floats: [Float] {
        view(as: Float.self).withUnsafePointer { start, shape, _ in
            var count = 1
            for axis in shape.indices { count *= shape[axis] }
            return Array(UnsafeBufferPointer(start: start, count: count))
        }
    }

    mutating func fill(_ id: Int32) {
        var view = mutableView(as: Int32.self)
        view.copyElements(fromContentsOf: CollectionOfOne(id))
        view[scalarAt: [0, 0]] = id
    }

    mutating func zero() {
        mutableRawView().withUnsafeMutableBytes { start, shape, _ in
            var count = 4
            for axis in shape.indices { count *= shape[axis] }
            start.initializeMemory(as: UInt8.self, repeating: 0, count: count)
        }
    }

    mutating func writeThroughSpan(_ value: Float) {
        let view = mutableView(as: Float.self)
        guard var elements = view.contiguousElements else { return }
        for i in elements.indices { elements[i] = value }
    }
}

@Suite struct ClientSnippets {
    @Test func viewsReadAndWriteAsClientsWriteIt() {
        var array = NDArray(scalars: (0..<6).map { Float($0) }, shape: [1, 2, 3])
        #expect(clientLastRow(array) == [3, 4, 5])
        #expect(clientSum(array.view(as: Float.self)) == 15)
        let all = array.view(as: Float.self).slice(at: [.all, 1, 1..<3])
        #expect(all[scalarAt: [0, 0, 1]] == 5)
        array.writeThroughSpan(2)
        #expect(array.floats == [2, 2, 2, 2, 2, 2])
        array.zero()
        let count = array.view(as: Float.self).contiguousElements?.count
        #expect(count == 6)
    }
}
