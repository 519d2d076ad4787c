import CoreAIGraph
import CoreAIOps
import CoreAIRuntime
import Synchronization

/// A function whose computation is a closure of the test.
final class FakeExecutor: FunctionExecutor {
    struct Call {
        let inputs: [HostTensor]
        let states: [HostTensor]
        let output: (_ index: Int, _ shape: [Int]) throws -> HostTensor
        let isCancelled: () -> Bool
    }
    let descriptor: InferenceFunctionDescriptor
    private let body: @Sendable (Call) throws -> Void
    private let count = Atomic<Int>(0)

    /// How often the computation was begun.
    var runs: Int { count.load(ordering: .relaxed) }

    init(_ descriptor: InferenceFunctionDescriptor, _ body: @escaping @Sendable (Call) throws -> Void) {
        self.descriptor = descriptor
        self.body = body
    }

    func run(
        inputs: [HostTensor], states: [HostTensor], output: (_ index: Int, _ shape: [Int]) throws -> HostTensor,
        isCancelled: () -> Bool
    ) throws {
        count.add(1, ordering: .relaxed)
        try withoutActuallyEscaping(output) { output in
            try withoutActuallyEscaping(isCancelled) { isCancelled in
                try body(Call(inputs: inputs, states: states, output: output, isCancelled: isCancelled))
            }
        }
    }
}

func array(_ scalarType: ScalarType, _ shape: [Int]) -> InferenceValue.Descriptor {
    .ndArray(NDArrayDescriptor(scalarType: scalarType, shape: shape))
}

extension HostTensor {
    var floats: UnsafeMutableBufferPointer<Float> { UnsafeMutableBufferPointer(start: pointer(), count: count) }
}

/// y = a + b over float32 of any [?, ?].
func makeAdder() -> FakeExecutor {
    let type = array(.float32, [-1, -1])
    return FakeExecutor(
        InferenceFunctionDescriptor(name: "add", inputs: [("a", type), ("b", type)], outputs: [("y", type)])
    ) { call in
        let a = call.inputs[0]
        let b = call.inputs[1]
        guard a.shape == b.shape else {
            throw RunError(
                .sizesDisagree, function: "add", role: "input", argument: "b", expected: "\(a.shape) like 'a'",
                found: "\(b.shape)")
        }
        let y = try call.output(0, a.shape)
        for i in 0..<a.count { y.floats[i] = a.floats[i] + b.floats[i] }
    }
}

/// total += x; y = total, over float32 [3].
func makeAccumulator() -> FakeExecutor {
    let type = array(.float32, [3])
    return FakeExecutor(
        InferenceFunctionDescriptor(
            name: "accumulate", inputs: [("x", type)], states: [("total", type)], outputs: [("y", type)])
    ) { call in
        let y = try call.output(0, [3])
        for i in 0..<3 {
            call.states[0].floats[i] += call.inputs[0].floats[i]
            y.floats[i] = call.states[0].floats[i]
        }
    }
}

func floats(_ values: [Float], _ shape: [Int]? = nil) -> NDArray {
    NDArray(scalars: values, shape: shape ?? [values.count])
}
