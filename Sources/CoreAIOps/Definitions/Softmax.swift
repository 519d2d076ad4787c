import CoreAIGraph

let softmaxDefinitions = [
    OpDefinition(
        "softmax_v1",
        summary: "exp(x - max) divided by its sum along an axis; in float32 for narrow floats.",
        signature: Signature([.data("x"), .steering("axis")]),
        inferTypes: { context throws(GraphError) in
            let x = try context.tensor("x")
            guard x.scalar.isFloat, x.scalar.hasOrder else {
                throw context.error(
                    "cannot be taken of \(x.scalar.name), only of float16, bfloat16, float32 and float64")
            }
            _ = try context.axis("axis", rank: x.rank)
            return [.tensor(TensorType(x.scalar, x.shape))]
        },
        reference: { context throws(KernelError) in
            let (x, result) = (context.tensor("x"), context.results[0])
            let box = AxisBox(x.shape, try context.axis("axis", rank: x.rank))
            if x.scalar == .float64 {
                softmax(Double.self, x, box, result)
            } else {
                softmax(Float.self, x, box, result)
            }
        },
        tolerance: .ulps(4),
        examples: [
            Example(
                [.init(.float32, [2, 2], [0, 0, 1, -.infinity]), .init(.int32, [], [-1])],
                results: [.init(.float32, [2, 2], [0.5, 0.5, 1, 0])]),
            Example(
                [.init(.float16, [2, 2], [60000, 1, 60000, 1]), .init(.int32, [], [0])],
                results: [.init(.float16, [2, 2], [0.5, 0.5, 0.5, 0.5])]),
            Example(
                [.init(.float32, [3, 2], [.nan, 0, .infinity, 0, -.infinity, -.infinity]), .init(.int32, [], [1])],
                results: [.init(.float32, [3, 2], [.nan, .nan, .nan, .nan, .nan, .nan])]),
            Example(
                [.init(.float64, [3], [0, 1, 2]), .init(.int32, [], [0])],
                results: [.init(.float64, [3], [0.09003057317038046, 0.24472847105479764, 0.6652409557748219])]),
        ])
]

@inline(__always)
private func softmax<T: FloatLane>(_: T.Type, _ x: HostTensor, _ box: AxisBox, _ result: HostTensor) {
    T.reading(x) { source in
        T.writing(result) { target in
            box.forEachLine { _, start in
                var largest = -T.infinity
                for index in 0..<box.count { largest = T.greater(largest, source[start + index * box.inner]) }
                var sum = T.zero
                for index in 0..<box.count {
                    let power = T.exponential(source[start + index * box.inner] - largest)
                    target[start + index * box.inner] = power
                    sum += power
                }
                for index in 0..<box.count { target[start + index * box.inner] /= sum }
            }
        }
    }
}
