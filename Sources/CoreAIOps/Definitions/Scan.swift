import CoreAIGraph

let scanDefinitions = [
    OpDefinition(
        "primitive.scan_v1",
        summary:
            "The running sum, product, least or greatest element along an axis, each element included; a NaN stays in "
            + "sums and products, and is passed over by min and max.",
        signature: Signature([.data("x"), .steering("axis"), .steering("reverse")], attributes: ["combiner"]),
        inferTypes: { context throws(GraphError) in
            let x = try context.tensor("x")
            guard x.scalar.hasOrder, x.scalar != .bool else {
                throw context.error("cannot be taken of \(x.scalar.name)")
            }
            _ = try context.axis("axis", rank: x.rank)
            guard case .word(let word)? = context.op[attribute: "combiner"], Combiner(rawValue: word) != nil else {
                throw context.error("attribute 'combiner' must be one of \(Combiner.allCases.map(\.rawValue))")
            }
            return [.tensor(TensorType(x.scalar, x.shape))]
        },
        reference: { context throws(KernelError) in
            let (x, result) = (context.tensor("x"), context.results[0])
            guard let combiner = context.word("combiner").flatMap(Combiner.init) else {
                throw KernelError("'combiner' must be one of \(Combiner.allCases.map(\.rawValue))")
            }
            let box = AxisBox(x.shape, try context.axis("axis", rank: x.rank))
            let reverse = try context.integer("reverse") != 0
            try x.scalar.perform(Scan(x: x, box: box, combiner: combiner, reverse: reverse, result: result))
        },
        tolerance: .sumOfMagnitudes(32),
        examples: [
            example(
                .sum, [.init(.float32, [2, 3], [1, 2, 3, 4, 5, 6]), .init(.int32, [], [-1]), .init(.bool, [], [0])],
                .init(.float32, [2, 3], [1, 3, 6, 4, 9, 15])),
            example(
                .sum, [.init(.int8, [3], [100, 27, 1]), .init(.int32, [], [0]), .init(.bool, [], [1])],
                .init(.int8, [3], [-128, 28, 1])),
            example(
                .product, [.init(.float32, [4], [2, .nan, 3, 4]), .init(.int32, [], [0]), .init(.bool, [], [1])],
                .init(.float32, [4], [.nan, .nan, 12, 4])),
            example(
                .max, [.init(.float32, [4], [1, .nan, 3, 2]), .init(.int32, [], [0]), .init(.bool, [], [0])],
                .init(.float32, [4], [1, 1, 3, 3])),
            example(
                .min, [.init(.int32, [2, 2], [4, 1, 3, 2]), .init(.int32, [], [0]), .init(.bool, [], [0])],
                .init(.int32, [2, 2], [4, 1, 3, 1])),
            example(
                .sum, [.init(.float16, [0], []), .init(.int32, [], [0]), .init(.bool, [], [0])],
                .init(.float16, [0], [])),
        ])
]

private enum Combiner: String, CaseIterable {
    case sum, product, min, max
}

private func example(_ combiner: Combiner, _ operands: [Example.Tensor], _ result: Example.Tensor) -> Example {
    Example(operands, attributes: [NamedAttribute("combiner", .word(combiner.rawValue))], results: [result])
}

private struct Scan: OrderedLaneWork {
    let x: HostTensor
    let box: AxisBox
    let combiner: Combiner
    let reverse: Bool
    let result: HostTensor

    func run<T: OrderedLane>(as lane: T.Type) {
        switch combiner {
        case .sum: scan(T.sum)
        case .product: scan(T.product)
        case .max: scan(T.greaterNumber)
        case .min: scan(T.lesserNumber)
        }
    }

    @inline(__always)
    private func scan<T: OrderedLane>(_ combine: (T, T) -> T) {
        guard x.count > 0 else { return }
        T.reading(x) { source in
            T.writing(result) { target in
                for block in 0..<box.outer {
                    let first = reverse ? box.count - 1 : 0
                    var row = (block * box.count + first) * box.inner
                    (target + row).update(from: source + row, count: box.inner)
                    for _ in 1..<box.count {
                        let next = reverse ? row - box.inner : row + box.inner
                        for index in 0..<box.inner {
                            target[next + index] = combine(target[row + index], source[next + index])
                        }
                        row = next
                    }
                }
            }
        }
    }
}
