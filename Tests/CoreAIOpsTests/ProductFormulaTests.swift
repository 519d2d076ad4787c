import CoreAIGraph
import CoreAIOps
import Testing

/// Random cases in small whole numbers, of which every sum is exact, against formulas that go index by index.
private let seeds: [UInt64] = Array(1...40)

private struct Source {
    var random: SeededGenerator

    init(_ seed: UInt64) { random = SeededGenerator(state: seed) }

    mutating func pick(_ range: ClosedRange<Int>) -> Int { Int.random(in: range, using: &random) }
    mutating func pick(_ range: ClosedRange<Int>, _ count: Int) -> [Int] { (0..<count).map { _ in pick(range) } }
    mutating func tensor(_ scalar: ScalarType, _ shape: [Int]) -> Example.Tensor {
        .init(scalar, shape, (0..<shape.reduce(1, *)).map { _ in Double(pick(-3...3)) })
    }
    mutating func scalar() -> ScalarType {
        [.float16, .bfloat16, .float32, .float64, .int32, .int64][pick(0...5)]
    }
}

private func vector(_ values: [Int]) -> Example.Tensor { .init(.int32, [values.count], values.map(Double.init)) }
private func number(_ value: Int) -> Example.Tensor { .init(.int32, [], [Double(value)]) }

private func positions(_ shape: [Int]) -> [[Int]] {
    shape.reduce([[]]) { prefixes, size in prefixes.flatMap { prefix in (0..<size).map { prefix + [$0] } } }
}

private func flat(_ position: [Int], _ shape: [Int]) -> Int { zip(position, shape).reduce(0) { $0 * $1.1 + $1.0 } }

extension Example.Tensor {
    fileprivate func at(_ position: [Int]) -> Double { values[flat(position, shape)] }
}

private func check(_ name: String, _ operands: [Example.Tensor], _ shape: [Int], _ values: [Double]) throws {
    let definition = try #require(OpTable[name])
    let result = try #require(
        try run(Example(operands, results: [.init(operands[0].scalar, shape, [])]), of: definition).first)
    #expect(result.tensor.shape == shape, "\(name) of \(operands)")
    #expect(result.numbers == OwnedTensor(.init(operands[0].scalar, shape, values)).numbers, "\(name) of \(operands)")
}

@Test(arguments: seeds)
func foldsAgreeWithAFormula(_ seed: UInt64) throws {
    var source = Source(seed)
    let x = source.tensor(source.scalar(), source.pick(1...6, source.pick(1...4)))
    let axes = Set(x.shape.indices.filter { _ in source.pick(0...1) == 1 })
    let shape = x.shape.enumerated().map { axes.contains($0) ? 1 : $1 }
    var sums = [Double](repeating: 0, count: shape.reduce(1, *))
    var greatest = [Double](repeating: -.infinity, count: sums.count)
    for position in positions(x.shape) {
        let target = flat(position.enumerated().map { axes.contains($0) ? 0 : $1 }, shape)
        sums[target] += x.at(position)
        greatest[target] = max(greatest[target], x.at(position))
    }
    try check("reduce_sum_v1", [x, vector(Array(axes))], shape, sums)
    try check("reduce_max_v1", [x, vector(axes.map { $0 - x.shape.count })], shape, greatest)
}

@Test(arguments: seeds)
func matrixProductsAgreeWithAFormula(_ seed: UInt64) throws {
    var source = Source(seed)
    let scalar = source.scalar()
    let (rows, terms, columns) = (source.pick(0...9), source.pick(0...5), seed == 1 ? 1030 : source.pick(0...9))
    let batch = source.pick(1...3, source.pick(0...2))
    let left = batch.map { source.pick(0...1) == 0 ? 1 : $0 }
    let right = Array(batch.dropFirst(source.pick(0...1)))
    let x = source.tensor(scalar, left + [rows, terms])
    let y = source.tensor(scalar, right + [terms, columns])
    let shape =
        Array(right.count == batch.count ? batch : left.prefix(batch.count - right.count) + right) + [rows, columns]
    let values = positions(shape).map { position in
        let outer = Array(position.dropLast(2))
        let leftOuter = zip(outer, left).map { $1 == 1 ? 0 : $0 }
        let rightOuter = Array(outer.suffix(right.count))
        return (0..<terms).reduce(0.0) {
            $0 + x.at(leftOuter + [position[outer.count], $1]) * y.at(rightOuter + [$1, position[outer.count + 1]])
        }
    }
    try check("broadcasting_batch_matmul_v1", [x, y], shape, values)
    if left == right { try check("primitive.batch_matmul_v1", [x, y], shape, values) }
}

@Test(arguments: seeds, [2, 3])
func convolutionsAgreeWithAFormula(_ seed: UInt64, _ axes: Int) throws {
    var source = Source(seed)
    let scalar = source.scalar()
    let (groups, channels, outputs) = (source.pick(1...3), source.pick(1...2), source.pick(1...2))
    let kernel = source.pick(1...3, axes)
    let (strides, dilations) = (source.pick(1...3, axes), source.pick(1...2, axes))
    let positionsAlong = source.pick(1...4, axes)
    let spare = source.pick(0...2, axes)
    let sizes = (0..<axes).map { (axis: Int) -> Int in
        let last = (positionsAlong[axis] - 1) * strides[axis] + dilations[axis] * (kernel[axis] - 1)
        return last + 1 + min(spare[axis], strides[axis] - 1)
    }
    let x = source.tensor(scalar, [2, channels * groups] + sizes)
    let weights = source.tensor(scalar, [outputs * groups, channels] + kernel)
    let shape = [2, outputs * groups] + positionsAlong
    let values = positions(shape).map { position in
        var sum = 0.0
        for tap in positions([channels] + kernel) {
            let place = (0..<axes).map { (axis: Int) -> Int in
                position[2 + axis] * strides[axis] + tap[1 + axis] * dilations[axis]
            }
            let channel = position[1] / outputs * channels + tap[0]
            sum += x.at([position[0], channel] + place) * weights.at([position[1]] + tap)
        }
        return sum
    }
    try check(
        "primitive.conv\(axes)d_v1", [x, weights, vector(strides), vector(dilations), number(groups)], shape, values)
}

@Test(arguments: seeds, [2, 3])
func transposedConvolutionsAgreeWithAFormula(_ seed: UInt64, _ axes: Int) throws {
    var source = Source(seed)
    let scalar = source.scalar()
    let (groups, channels, outputs) = (source.pick(1...3), source.pick(1...2), source.pick(1...2))
    let (kernel, sizes) = (source.pick(1...3, axes), source.pick(1...4, axes))
    let (strides, dilations) = (source.pick(1...3, axes), source.pick(1...2, axes))
    let (padding, outputPad) = (source.pick(0...2, axes), source.pick(0...1, axes))
    let reached = (0..<axes).map { (axis: Int) -> Int in
        let last = (sizes[axis] - 1) * strides[axis] + dilations[axis] * (kernel[axis] - 1)
        return last + 1 - 2 * padding[axis] + outputPad[axis]
    }
    guard reached.allSatisfy({ $0 >= 0 }) else { return }
    let x = source.tensor(scalar, [2, channels * groups] + sizes)
    let weights = source.tensor(scalar, [channels * groups, outputs] + kernel)
    let shape = [2, outputs * groups] + reached
    var values = [Double](repeating: 0, count: shape.reduce(1, *))
    for position in positions(x.shape) {
        for tap in positions([outputs] + kernel) {
            let place = (0..<axes).map { (axis: Int) -> Int in
                position[2 + axis] * strides[axis] + tap[1 + axis] * dilations[axis] - padding[axis]
            }
            guard zip(place, reached).allSatisfy({ $0 >= 0 && $0 < $1 }) else { continue }
            let target = [position[0], position[1] / channels * outputs + tap[0]] + place
            values[flat(target, shape)] += x.at(position) * weights.at([position[1]] + tap)
        }
    }
    let steering = [strides, padding, dilations, outputPad].map(vector) + [number(groups)]
    try check("primitive.conv_transpose\(axes)d_v1", [x, weights] + steering, shape, values)
}

private func inferred(
    _ name: String, _ types: [TensorType], _ steering: [String: [Dimension]] = [:], values: [[Dimension]?] = []
) throws -> (types: [TensorType], context: InferenceContext) {
    let definition = try #require(OpTable[name])
    let op = Op(name, attributes: steering.map { NamedAttribute($0, .dimensions($1)) })
    var context = InferenceContext(
        op: op, signature: definition.signature, operandTypes: types.map { .tensor($0) },
        operandValues: values.isEmpty ? types.map { _ in nil } : values,
        declaredTypes: [.tensor(TensorType(types[0].scalar, [.unknown]))], nextSymbol: 10)
    let results = try definition.inferTypes(&context)
    return (results.compactMap(\.tensor), context)
}

@Suite struct ProductInferenceTests {
    let batch = Dimension.symbol(0)
    let width = Dimension.symbol(1)

    @Test func convolutionSizesFollowSymbols() throws {
        let result = try inferred(
            "primitive.conv2d_v1",
            [TensorType(.float32, [batch, 3, 8, width]), TensorType(.float32, [6, 3, 3, 3])],
            ["stride": [2, 2], "dilation": [1, 2], "groups": [1]])
        #expect(result.types[0].shape[0] == batch)
        #expect(result.types[0].shape[2] == 3)
        #expect(result.types[0].shape[3].evaluated { _ in 9 } == 3)
    }

    @Test func channelsMustMatchTheGroups() {
        #expect(throws: GraphError.self) {
            try inferred(
                "primitive.conv2d_v1",
                [TensorType(.float32, [1, 3, 8, 8]), TensorType(.float32, [6, 3, 3, 3])],
                ["stride": [1, 1], "dilation": [1, 1], "groups": [2]])
        }
        #expect(throws: GraphError.self) {
            try inferred(
                "primitive.conv2d_v1",
                [TensorType(.float32, [1, 3, 8, 2]), TensorType(.float32, [6, 3, 3, 3])],
                ["stride": [1, 1], "dilation": [1, 1], "groups": [1]])
        }
    }

    @Test func hostileNumbersAreRefused() {
        let types = [TensorType(.float32, [1, 3, 8, 8]), TensorType(.float32, [3, 3, 3, 3])]
        for (stride, groups) in [(0, 1), (-1, 1), (1, 0), (1, -3), (1, Int.min), (1, Int.max)] {
            #expect(throws: GraphError.self) {
                try inferred(
                    "primitive.conv_transpose2d_v1", types,
                    [
                        "stride": [Dimension(stride), 1], "padding": [0, 0], "dilation": [1, 1], "output_pad": [0, 0],
                        "groups": [Dimension(groups)],
                    ])
            }
        }
    }

    @Test func innerSizesOfAProductBecomeAConstraint() throws {
        let result = try inferred(
            "primitive.batch_matmul_v1",
            [TensorType(.float32, [batch, 2, width]), TensorType(.float32, [batch, 7, 5])])
        #expect(result.types[0].shape == [batch, 2, 5])
        #expect(result.context.constraints.count == 1)
    }

    @Test func foldsOfKnownSizesAreKnown() throws {
        let x = TensorType(.int32, [3])
        let known: [[Dimension]?] = [[2, width, 5]]
        let product = try inferred("reduce_product_v1", [x], ["axes": [0]], values: known)
        #expect(product.context.resultValues == [[width * 10]])
        let wrapped = try inferred("reduce_sum_v1", [TensorType(.int8, [2])], ["axes": [0]], values: [[100, 100]])
        #expect(wrapped.context.resultValues == [nil])
    }
}
