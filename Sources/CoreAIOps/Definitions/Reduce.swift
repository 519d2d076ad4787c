import CoreAIGraph

/// Folds along axes, which stay with size 1.
let reduceDefinitions = [
    reduce(
        "reduce_sum_v1", .sum, .binary(.add, .operand(0), .operand(1)),
        summary: "Adds along axes; narrow floats in float32, integers wrap.", tolerance: .sumOfMagnitudes(32),
        examples: [
            Example(
                [.init(.float32, [2, 3], [1, 2, 3, 4, 5, 6]), .init(.int32, [1], [-1])],
                results: [.init(.float32, [2, 1], [6, 15])]),
            Example([.init(.int8, [3], [100, 100, 3]), .init(.int32, [1], [0])], results: [.init(.int8, [1], [-53])]),
            Example(
                [.init(.float16, [2, 2, 2], [1, 2, 3, 4, 5, 6, 7, 8]), .init(.int32, [2], [0, 2])],
                results: [.init(.float16, [1, 2, 1], [14, 22])]),
            Example([.init(.float32, [2], [3, 4]), .init(.int32, [0], [])], results: [.init(.float32, [2], [3, 4])]),
            Example(
                [.init(.float32, [2, 0], []), .init(.int32, [1], [1])], results: [.init(.float32, [2, 1], [0, 0])]),
            // Rounding each step to float16 would stop at 2048.
            Example(
                [.init(.float16, [5], [2048, 1, 1, 1, 1]), .init(.int32, [1], [0])],
                results: [.init(.float16, [1], [2052])]),
        ]),
    reduce(
        "reduce_mean_v1", .mean, .binary(.add, .operand(0), .operand(1)),
        finish: .binary(.divide, .operand(0), .operand(1)),
        summary: "The sum along axes divided by the number of elements; NaN of none.", tolerance: .sumOfMagnitudes(32),
        examples: [
            Example(
                [.init(.float32, [2, 2], [1, 2, 3, 5]), .init(.int32, [1], [0])],
                results: [.init(.float32, [1, 2], [2, 3.5])]),
            Example(
                [.init(.float16, [2], [60000, 60000]), .init(.uint32, [1], [0])],
                results: [.init(.float16, [1], [60000])]),
            Example(
                [.init(.bfloat16, [2, 2], [1, 2, 3, 4]), .init(.int32, [2], [0, 1])],
                results: [.init(.bfloat16, [1, 1], [2.5])]),
            Example([.init(.float32, [0], []), .init(.int32, [1], [0])], results: [.init(.float32, [1], [.nan])]),
        ]),
    reduce(
        "reduce_max_v1", .maximum, .binary(.maximum, .operand(0), .operand(1)),
        summary: "The greatest element along axes; a NaN wins.",
        examples: [
            Example(
                [.init(.float32, [2, 2], [1, .nan, 3, 2]), .init(.int32, [1], [1])],
                results: [.init(.float32, [2, 1], [.nan, 3])]),
            Example([.init(.uint8, [3], [7, 200, 9]), .init(.int32, [1], [0])], results: [.init(.uint8, [1], [200])]),
            Example(
                [.init(.int16, [0, 2], []), .init(.int32, [1], [0])],
                results: [.init(.int16, [1, 2], [-32768, -32768])]),
        ]),
    reduce(
        "reduce_min_v1", .minimum, .binary(.minimum, .operand(0), .operand(1)),
        summary: "The least element along axes; a NaN wins.",
        examples: [
            Example(
                [.init(.float32, [2, 2], [1, .nan, 3, 2]), .init(.int32, [1], [0])],
                results: [.init(.float32, [1, 2], [1, .nan])]),
            Example([.init(.int8, [3], [7, -100, 9]), .init(.int32, [1], [0])], results: [.init(.int8, [1], [-100])]),
            Example([.init(.float32, [0], []), .init(.int32, [1], [0])], results: [.init(.float32, [1], [.infinity])]),
        ]),
    reduce(
        "reduce_product_v1", .product, .binary(.multiply, .operand(0), .operand(1)),
        summary: "Multiplies along axes; narrow floats in float32, integers wrap.", tolerance: .sumOfMagnitudes(32),
        examples: [
            Example(
                [.init(.float32, [2, 2], [1, 2, 3, 4]), .init(.int32, [1], [1])],
                results: [.init(.float32, [2, 1], [2, 12])]),
            Example([.init(.uint8, [2], [16, 17]), .init(.int32, [1], [0])], results: [.init(.uint8, [1], [16])]),
            Example([.init(.int32, [0], []), .init(.int32, [1], [0])], results: [.init(.int32, [1], [1])]),
        ]),
    reduce(
        "all_v1", .minimum, .binary(.logicalAnd, .operand(0), .operand(1)), boolean: true,
        summary: "True where all elements along the axes are true, as they are of none.",
        examples: [
            Example(
                [.init(.bool, [2, 2], [1, 1, 1, 0]), .init(.int32, [1], [1])],
                results: [.init(.bool, [2, 1], [1, 0])]),
            Example([.init(.bool, [0], []), .init(.int32, [1], [0])], results: [.init(.bool, [1], [1])]),
        ]),
    reduce(
        "any_v1", .maximum, .binary(.logicalOr, .operand(0), .operand(1)), boolean: true,
        summary: "True where any element along the axes is true.",
        examples: [
            Example(
                [.init(.bool, [2, 2], [0, 0, 1, 0]), .init(.int32, [1], [1])],
                results: [.init(.bool, [2, 1], [0, 1])]),
            Example([.init(.bool, [0], []), .init(.int32, [1], [0])], results: [.init(.bool, [1], [0])]),
        ]),
]

private enum Fold {
    case sum, mean, product, maximum, minimum
}

private func reduce(
    _ name: String, _ fold: Fold, _ combine: ScalarExpression, finish: ScalarExpression? = nil, boolean: Bool = false,
    summary: String, tolerance: Tolerance = .exact, examples: [Example]
) -> OpDefinition {
    OpDefinition(
        name, summary: summary, signature: Signature([.data("x"), .steering("axes")]),
        form: .reduction(Reduction(combine: combine, finish: finish)),
        inferTypes: { context throws(GraphError) in
            let x = try context.tensor("x")
            let accepted = boolean ? x.scalar == .bool : x.scalar.hasOrder && x.scalar != .bool
            guard accepted, fold != .mean || x.scalar.isFloat else {
                throw context.error("cannot be taken of \(x.scalar.name)")
            }
            let axes = Set(try context.axes("axes", rank: x.rank))
            if x.scalar.isInteger, let values = context.values(of: "x"), let shape = x.staticShape {
                context.resultValues = [folded(values, shape, axes, fold, x.scalar)]
            }
            return [.tensor(TensorType(x.scalar, x.shape.enumerated().map { axes.contains($0) ? 1 : $1 }))]
        },
        reference: { context throws(KernelError) in
            let x = context.tensor("x")
            let axes = Set(try context.axes("axes", rank: x.rank))
            try x.scalar.perform(Reducing(x: x, axes: axes, fold: fold, result: context.results[0]))
        },
        tolerance: tolerance, examples: examples)
}

/// The fold of known integers, or nil if a number leaves its type.
private func folded(
    _ values: [Dimension], _ shape: [Int], _ axes: Set<Int>, _ fold: Fold, _ scalar: ScalarType
) -> [Dimension]? {
    guard values.count == shape.reduce(1, *), !values.isEmpty else { return nil }
    let kept = denseStrides(shape.enumerated().map { axes.contains($0) ? 1 : $1 })
    let steps = kept.enumerated().map { axes.contains($0) ? 0 : $1 }
    var results: [Int: Dimension] = [:]
    forEachOffset(shape, denseStrides(shape), steps) { source, target in
        let value = values[source]
        results[target] =
            results[target].map { sum in
                switch fold {
                case .sum, .mean: sum + value
                case .product: sum * value
                case .maximum: .maximum(sum, value)
                case .minimum: .minimum(sum, value)
                }
            } ?? value
    }
    let (low, high) = Int64.bounds(of: scalar == .uint64 ? .int64 : scalar)
    let folded = results.sorted { $0.key < $1.key }.map(\.value)
    let fits = folded.allSatisfy { number in
        !number.isUnknown && number.constant.map { Int64($0) >= low && Int64($0) <= high } != false
    }
    return fits ? folded : nil
}

private struct Reducing: OrderedLaneWork {
    let x: HostTensor
    let axes: Set<Int>
    let fold: Fold
    let result: HostTensor

    func run<T: OrderedLane>(as lane: T.Type) {
        let (low, high) = T.bounds(of: x.scalar)
        switch fold {
        case .sum: reduce(from: T.zero, T.sum)
        case .product: reduce(from: T.one, T.product)
        case .maximum: reduce(from: low, T.greater)
        case .minimum: reduce(from: high, T.lesser)
        case .mean: mean(as: lane)
        }
    }

    private func mean<T: OrderedLane>(as lane: T.Type) {
        let count = axes.reduce(1) { $0 * x.shape[$1] }
        reduce(from: T.zero, T.sum) { values in
            for index in 0..<result.count { values[index] = T.mean(values[index], of: count) }
        }
    }

    @inline(__always)
    private func reduce<T: OrderedLane>(
        from neutral: T, _ combine: (T, T) -> T, finish: (UnsafeMutablePointer<T>) -> Void = { _ in }
    ) {
        T.reading(x) { source in
            T.writing(result) { target in
                reduce(source, x.shape, from: neutral, combine, to: target)
                finish(target)
            }
        }
    }

    /// Folds neighbouring axes as one, the outermost first, through scratch memory until the last.
    @inline(__always)
    private func reduce<T: OrderedLane>(
        _ source: UnsafeMutablePointer<T>, _ sizes: [Int], from neutral: T, _ combine: (T, T) -> T,
        to target: UnsafeMutablePointer<T>
    ) {
        var runs: [Range<Int>] = []
        for axis in sizes.indices where axes.contains(axis) {
            if let last = runs.last, last.upperBound == axis {
                runs[runs.count - 1] = last.lowerBound..<axis + 1
            } else {
                runs.append(axis..<axis + 1)
            }
        }
        if runs.isEmpty { target.update(from: source, count: sizes.reduce(1, *)) }
        var (source, sizes) = (source, sizes)
        var scratches: [UnsafeMutablePointer<T>] = []
        defer { for scratch in scratches { scratch.deallocate() } }
        for (number, run) in runs.enumerated() {
            let outer = sizes[..<run.lowerBound].reduce(1, *)
            let count = sizes[run].reduce(1, *)
            let inner = sizes[run.upperBound...].reduce(1, *)
            var next = target
            if number < runs.count - 1 {
                next = .allocate(capacity: max(outer * inner, 1))
                scratches.append(next)
            }
            for row in 0..<outer {
                foldRow(source + row * count * inner, count, inner, from: neutral, combine, to: next + row * inner)
            }
            for axis in run { sizes[axis] = 1 }
            source = next
        }
    }
}

/// Folds `count` vectors of `inner` elements into one.
@inline(__always)
private func foldRow<T: OrderedLane>(
    _ source: UnsafeMutablePointer<T>, _ count: Int, _ inner: Int, from neutral: T, _ combine: (T, T) -> T,
    to target: UnsafeMutablePointer<T>
) {
    if inner > 1 {
        target.update(repeating: neutral, count: inner)
        for position in 0..<count {
            let vector = source + position * inner
            for index in 0..<inner { target[index] = combine(target[index], vector[index]) }
        }
        return
    }
    // Four chains: independent work for the processor, and smaller rounding errors than one chain has.
    var (a, b, c, d) = (neutral, neutral, neutral, neutral)
    var position = 0
    while position + 4 <= count {
        a = combine(a, source[position])
        b = combine(b, source[position + 1])
        c = combine(c, source[position + 2])
        d = combine(d, source[position + 3])
        position += 4
    }
    while position < count {
        a = combine(a, source[position])
        position += 1
    }
    target[0] = combine(combine(a, b), combine(c, d))
}
