import CoreAIGraph

let argmaxDefinitions = [
    OpDefinition(
        "argmax_v1",
        summary: "The first position of the greatest element along an axis, which stays with size 1; NaN never wins.",
        signature: Signature([.data("x"), .steering("axis")]),
        inferTypes: { context throws(GraphError) in
            let x = try context.tensor("x")
            guard x.scalar.hasOrder else { throw context.error("\(x.scalar.name) has no order") }
            var shape = x.shape
            shape[try context.axis("axis", rank: x.rank)] = 1
            return [.tensor(TensorType(context.declaredInteger(else: .uint32), shape))]
        },
        reference: { context throws(KernelError) in
            let x = context.tensor("x")
            let axis = try context.axis("axis", rank: x.rank)
            try x.scalar.perform(Argmax(x: x, axis: axis, result: context.results[0]))
        },
        examples: [
            Example(
                [.init(.float32, [2, 3], [1, 3, 3, .nan, 0, -1]), .init(.int32, [], [-1])],
                results: [.init(.uint32, [2, 1], [1, 1])]),
            Example(
                [.init(.float32, [2, 2], [.nan, -.infinity, .nan, -.infinity]), .init(.int32, [], [0])],
                results: [.init(.uint32, [1, 2], [0, 0])]),
            Example(
                [.init(.int8, [2, 2], [-128, 3, 127, 3]), .init(.uint32, [], [0])],
                results: [.init(.uint32, [1, 2], [1, 0])]),
            Example([.init(.float16, [3], [1, 5, 2]), .init(.int32, [], [0])], results: [.init(.uint32, [1], [1])]),
        ])
]

private struct Argmax: OrderedLaneWork {
    let x: HostTensor
    let axis: Int
    let result: HostTensor

    func run<T: OrderedLane>(as lane: T.Type) {
        let box = AxisBox(x.shape, axis)
        T.reading(x) { source in
            box.forEachLine { line, start in
                var best = T.bounds(of: x.scalar).0
                var position = 0
                for index in 0..<box.count {
                    let value = source[start + index * box.inner]
                    if T.isGreater(value, best) { (best, position) = (value, index) }
                }
                result.storeWrapped(position, at: line)
            }
        }
    }
}
