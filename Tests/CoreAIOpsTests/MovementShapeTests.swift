import CoreAIGraph
import CoreAIOps
import Testing

/// Random cases in which a naive index-by-index formula says what comes out. Each test also infers the shape with every
/// size of the data operand a symbol, and expects that shape to evaluate to the same sizes.
private let seeds: [UInt64] = Array(1...40)

struct SeededGenerator: RandomNumberGenerator {
    var state: UInt64
    mutating func next() -> UInt64 {
        state &+= 0x9e37_79b9_7f4a_7c15
        var z = state
        z = (z ^ (z >> 30)) &* 0xbf58_476d_1ce4_e5b9
        z = (z ^ (z >> 27)) &* 0x94d0_49bb_1331_11eb
        return z ^ (z >> 31)
    }
}

private struct Case {
    var random: SeededGenerator
    var shape: [Int]
    var x: Example.Tensor

    init(seed: UInt64, sizes: ClosedRange<Int> = 0...5) {
        random = SeededGenerator(state: seed)
        shape = (0..<Int.random(in: 1...4, using: &random)).map { [random] _ in
            var random = random
            return Int.random(in: sizes, using: &random)
        }
        for axis in shape.indices { shape[axis] = Int.random(in: sizes, using: &random) }
        x = .init(.int32, shape, (0..<shape.reduce(1, *)).map(Double.init))
    }

    func numbers(_ range: ClosedRange<Int>, _ count: Int) -> [Int] {
        var random = random
        return (0..<count).map { _ in Int.random(in: range, using: &random) }
    }
}

private func vector(_ values: [Int]) -> Example.Tensor { .init(.int32, [values.count], values.map(Double.init)) }
private func scalar(_ value: Int) -> Example.Tensor { .init(.int32, [], [Double(value)]) }

/// All positions of a shape in row-major order.
private func positions(_ shape: [Int]) -> [[Int]] {
    shape.reduce([[]]) { prefixes, size in prefixes.flatMap { prefix in (0..<size).map { prefix + [$0] } } }
}

private func flat(_ position: [Int], _ shape: [Int]) -> Int { zip(position, shape).reduce(0) { $0 * $1.1 + $1.0 } }

private func check(
    _ name: String, _ operands: [Example.Tensor], _ attributes: [NamedAttribute] = [], data: Int = 0,
    expect shape: [Int], _ values: [Double]
) throws {
    let definition = try #require(OpTable[name])
    let example = Example(operands, attributes: attributes, results: [.init(operands[data].scalar, shape, [])])
    let result = try #require(try run(example, of: definition).first)
    #expect(result.tensor.shape == shape, "\(name) of \(operands)")
    #expect(result.numbers == values, "\(name) of \(operands)")

    let sizes = operands[data].shape
    let op = Op(name, attributes: attributes)
    var context = InferenceContext(
        op: op, signature: definition.signature,
        operandTypes: operands.enumerated().map { index, operand in
            .tensor(
                TensorType(
                    operand.scalar,
                    operand.shape.indices.map { index == data ? .symbol($0) : Dimension(operand.shape[$0]) }))
        },
        operandValues: operands.enumerated().map { index, operand in
            index == data || !operand.scalar.isInteger ? nil : operand.values.map { Dimension(Int($0)) }
        },
        declaredTypes: [.tensor(TensorType(operands[data].scalar, shape.map { _ in .unknown }))],
        nextSymbol: sizes.count)
    let inferred = try #require(try definition.inferTypes(&context).first?.tensor)
    #expect(context.freshSymbols.isEmpty, "\(name) of \(operands) needs no data")
    #expect(
        inferred.shape.map { $0.evaluated(sizes.map { Optional($0) }) } == shape, "\(name): \(inferred) of \(operands)")
}

@Test(arguments: seeds) func slicesTakeThePositionsTheBoundsName(_ seed: UInt64) throws {
    for offset in 0..<20 {
        let one = Case(seed: seed * 1000 + UInt64(offset))
        let rank = one.shape.count
        let drawn = one.numbers(-8...8, 3 * rank)
        let (start, end) = (Array(drawn[..<rank]), Array(drawn[rank..<2 * rank]))
        let stride = drawn[(2 * rank)...].map { $0 == 0 ? 1 : $0 / 2 == 0 ? $0 : $0 / 2 }
        let taken: [[Int]] = one.shape.indices.map { axis in
            let size = one.shape[axis]
            var position = start[axis] < 0 ? start[axis] + size : start[axis]
            if stride[axis] > 0 {
                let last = min(max(end[axis] < 0 ? end[axis] + size : end[axis], 0), size)
                position = min(max(position, 0), size)
                return Array(Swift.stride(from: position, to: last, by: stride[axis]))
            }
            let last = min(max(end[axis] < -1 ? end[axis] + size : end[axis], -1), size - 1)
            position = min(max(position, 0), size - 1)
            return Array(Swift.stride(from: position, to: last, by: stride[axis]))
        }
        let shape = taken.map(\.count)
        let values = positions(shape).map { position in
            Double(flat(position.indices.map { taken[$0][position[$0]] }, one.shape))
        }
        try check("primitive.slice_v1", [one.x, vector(start), vector(end), vector(stride)], expect: shape, values)
    }
}

@Test(arguments: seeds) func transposesMoveEachElement(_ seed: UInt64) throws {
    var one = Case(seed: seed)
    let permutation = one.shape.indices.shuffled(using: &one.random)
    let shape = permutation.map { one.shape[$0] }
    let values = positions(shape).map { position in
        var source = position
        for (axis, from) in permutation.enumerated() { source[from] = position[axis] }
        return Double(flat(source, one.shape))
    }
    try check("primitive.transpose_v1", [one.x, vector(permutation)], expect: shape, values)
}

@Test(arguments: seeds) func paddingRepeatsTheElementsItsModeNames(_ seed: UInt64) throws {
    let one = Case(seed: seed, sizes: 2...4)
    let padding = one.numbers(0...1, 2 * one.shape.count)
    let shape = one.shape.indices.map { one.shape[$0] + padding[2 * $0] + padding[2 * $0 + 1] }
    for mode in ["constant", "replicate", "reflect", "symmetric", "circular"] {
        let values = positions(shape).map { position -> Double in
            var source: [Int] = []
            for axis in position.indices {
                let (size, index) = (one.shape[axis], position[axis] - padding[2 * axis])
                // At most one element is added at each end.
                switch (mode, index) {
                case ("constant", ..<0), ("constant", size...): return -7
                case ("reflect", ..<0): source.append(1)
                case ("reflect", size...): source.append(size - 2)
                case ("circular", ..<0): source.append(size - 1)
                case ("circular", size...): source.append(0)
                default: source.append(min(max(index, 0), size - 1))
                }
            }
            return Double(flat(source, one.shape))
        }
        try check(
            "primitive.pad_v1", [one.x, vector(padding), scalar(-7)], [.init("padding_mode", .word(mode))],
            expect: shape, values)
    }
}

@Test(arguments: seeds) func gathersFollowEachIndex(_ seed: UInt64) throws {
    let one = Case(seed: seed, sizes: 1...4)
    let axis = one.numbers(0...one.shape.count - 1, 1)[0]
    let size = one.shape[axis]
    var shape = one.shape
    shape[axis] = 3
    let indices = one.numbers(-size...size - 1, shape.reduce(1, *))
    let values = zip(positions(shape), indices).map { position, index in
        var source = position
        source[axis] = index < 0 ? index + size : index
        return Double(flat(source, one.shape))
    }
    try check(
        "primitive.gather_along_axis_v1", [one.x, .init(.int32, shape, indices.map(Double.init)), scalar(axis)],
        expect: shape, values)

    let rows = one.numbers(-one.shape[0]...one.shape[0] - 1, 4)
    let rest = Array(one.shape.dropFirst())
    let slices = rows.flatMap { row in
        positions(rest).map { Double(flat([row < 0 ? row + one.shape[0] : row] + $0, one.shape)) }
    }
    try check(
        "primitive.gather_nd_v1", [one.x, .init(.int32, [2, 2, 1], rows.map(Double.init))], expect: [2, 2] + rest,
        slices)
}

@Test(arguments: seeds) func joinsKeepEachInput(_ seed: UInt64) throws {
    let one = Case(seed: seed)
    let axis = one.numbers(0...one.shape.count - 1, 1)[0]
    var otherShape = one.shape
    otherShape[axis] = one.numbers(0...3, 2)[1]
    let other = Example.Tensor(.int32, otherShape, (0..<otherShape.reduce(1, *)).map { Double(-$0 - 1) })
    var shape = one.shape
    shape[axis] += otherShape[axis]
    let values = positions(shape).map { position -> Double in
        var position = position
        if position[axis] < one.shape[axis] { return Double(flat(position, one.shape)) }
        position[axis] -= one.shape[axis]
        return Double(-flat(position, otherShape) - 1)
    }
    try check("primitive.concat_v1", [scalar(axis - one.shape.count), one.x, other], data: 1, expect: shape, values)
}

// MARK: Shape arithmetic

private func infer(
    _ name: String, _ types: [TensorType], values: [[Dimension]?], results: Int = 1
) throws -> InferenceContext {
    let definition = try #require(OpTable[name])
    var context = InferenceContext(
        op: Op(name), signature: definition.signature, operandTypes: types.map { .tensor($0) }, operandValues: values,
        declaredTypes: Array(repeating: .tensor(TensorType(.int32, [.unknown])), count: results), nextSymbol: 10)
    _ = try definition.inferTypes(&context)
    return context
}

@Test func shapeArithmeticCarriesValues() throws {
    let (batch, length) = (Dimension.symbol(0), Dimension.symbol(1))
    let vector = TensorType(.int32, [3])
    let known: [Dimension] = [batch, length, 64]
    let scalar = TensorType(.int32, [])

    let shape = try infer("primitive.get_shape_v2", [TensorType(.float32, known)], values: [nil])
    #expect(shape.resultValues == [known])
    let picked = try infer("primitive.gather_nd_v1", [vector, TensorType(.int32, [1])], values: [known, [-2]])
    #expect(picked.resultValues == [[length]])
    let joined = try infer(
        "primitive.concat_v1", [scalar, scalar, vector], values: [[0], [batch * 2], known])
    #expect(joined.resultValues == [[batch * 2, batch, length, 64]])
    let one = TensorType(.int32, [1])
    let tail = try infer(
        "primitive.slice_v1", [vector, one, one, one], values: [known, [-2], [Dimension(Int(Int32.max))], [1]])
    #expect(tail.resultValues == [[length, 64]])
    let parts = try infer("primitive.split_v1", [vector, scalar, scalar], values: [known, [2], [0]], results: 2)
    #expect(parts.resultValues == [[batch, length], [64]])
}

@Test func inferredSizesOfReshapesAreExact() throws {
    let definition = try #require(OpTable["primitive.reshape_v2"])
    func reshape(_ shape: [Dimension], to sizes: [Dimension]) throws -> [Dimension]? {
        var context = InferenceContext(
            op: Op(definition.name), signature: definition.signature,
            operandTypes: [
                .tensor(TensorType(.float32, shape)), .tensor(TensorType(.int32, [Dimension(sizes.count)])),
            ],
            operandValues: [nil, sizes], declaredTypes: [.tensor(TensorType(.float32, []))], nextSymbol: 10)
        return try definition.inferTypes(&context).first?.tensor?.shape
    }
    let (batch, length) = (Dimension.symbol(0), Dimension.symbol(1))
    #expect(try reshape([batch, length, 64], to: [batch, length, 8, -1]) == [batch, length, 8, 8])
    #expect(try reshape([batch, length, 64], to: [-1, 64]) == [batch * length, 64])
    #expect(throws: GraphError.self) { try reshape([2, 3], to: [4, -1]) }
    #expect(throws: GraphError.self) { try reshape([2, 3], to: [7]) }
}

@Test func outOfRangeIndicesAreNamed() throws {
    let definition = try #require(OpTable["primitive.gather_nd_v1"])
    let example = Example(
        [.init(.float32, [2], [1, 2]), .init(.int32, [1, 1], [-3])], results: [.init(.float32, [1], [0])])
    let error = #expect(throws: KernelError.self) { try run(example, of: definition) }
    #expect(error?.message.contains("-3") ?? false)
    #expect(error?.message.contains("size 2") ?? false)
}

@Test func dataDependentBoundsGiveFreshSizes() throws {
    let one = TensorType(.int32, [1])
    let slice = try infer(
        "primitive.slice_v1", [TensorType(.float32, [8]), one, one, one], values: [nil, nil, nil, [1]])
    #expect(slice.freshSymbols == [10])
    #expect(try infer("primitive.non_zero_v1", [TensorType(.float32, [8])], values: [nil]).freshSymbols == [10])
}
