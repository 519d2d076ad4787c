import CoreAIGraph
import CoreAIOps

/// A seeded generator of choices.
struct Random {
    private var state: UInt64
    init(seed: UInt64) { state = seed &* 0x2545_f491_4f6c_dd1d &+ 0x9e37_79b9_7f4a_7c15 }

    mutating func next() -> UInt64 {
        state &+= 0x9e37_79b9_7f4a_7c15
        var z = state
        z = (z ^ (z >> 30)) &* 0xbf58_476d_1ce4_e5b9
        z = (z ^ (z >> 27)) &* 0x94d0_49bb_1331_11eb
        return z ^ (z >> 31)
    }

    mutating func below(_ bound: Int) -> Int { Int(next() % UInt64(max(1, bound))) }
    mutating func chance(_ percent: Int) -> Bool { below(100) < percent }
    mutating func pick<T>(_ choices: [T]) -> T { choices[below(choices.count)] }
    /// Between -1 and 1.
    mutating func number() -> Double { Double(Int64(bitPattern: next()) >> 11) * 0x1p-52 }
    mutating func shuffled<T>(_ list: [T]) -> [T] {
        var list = list
        for index in list.indices.dropFirst() { list.swapAt(index, below(index + 1)) }
        return list
    }
}

/// The generator asked for an op that cannot be; the graph so far stands.
struct Refused: Error {}

/// A graph that is computed by the reference kernels while it is written down, so that shapes are known.
struct Draft {
    var random: Random
    var graph = Graph(name: "main")
    private(set) var tensors: [ValueID: OwnedTensor] = [:]
    private(set) var inputs: [ValueID] = []
    private(set) var constants: [ValueID] = []
    /// Values made by ops, in order.
    private(set) var made: [ValueID] = []
    /// Whether sizes of inputs are left open, and all that follow from them.
    var isDynamic = false
    /// Whether inputs may hold NaN and infinities.
    var mayBeWild: Bool
    var scalar: ScalarType
    private(set) var operationCount = 0

    init(seed: Int) {
        random = Random(seed: UInt64(seed))
        mayBeWild = random.chance(6)
        isDynamic = random.chance(20)
        scalar = random.chance(72) ? .float32 : random.pick([.float16, .bfloat16, .float16, .float64])
    }

    func shape(_ value: ValueID) -> [Int] { tensors[value]?.tensor.shape ?? [] }
    func scalar(_ value: ValueID) -> ScalarType { tensors[value]?.tensor.scalar ?? .float32 }
    func isFinite(_ value: ValueID) -> Bool {
        guard let owned = tensors[value] else { return true }
        let codec = ElementCodec(owned.tensor.scalar)
        return (0..<owned.tensor.count).allSatisfy { codec.load(owned.tensor, $0).isFinite }
    }
    func rank(_ value: ValueID) -> Int { shape(value).count }

    // MARK: Inputs and constants

    private mutating func tensor(_ scalar: ScalarType, _ shape: [Int], _ value: (inout Random, Int) -> Double) throws
        -> OwnedTensor
    {
        guard shape.reduce(1.0, { $0 * Double($1) }) < 400_000 else { throw Refused() }
        let owned = OwnedTensor(scalar, shape)
        let codec = ElementCodec(scalar)
        for index in 0..<owned.tensor.count { codec.store(value(&random, index), owned.tensor, index) }
        return owned
    }

    mutating func input(_ shape: [Int], _ given: ScalarType? = nil) throws -> ValueID {
        let scalar = given ?? self.scalar
        let scale = random.pick([1.0, 1, 1, 4, 0.25])
        let owned = try tensor(scalar, shape) { random, _ in
            scalar == .bool
                ? Double(random.below(2)) : scalar.isInteger ? Double(random.below(7) - 3) : random.number() * scale
        }
        if mayBeWild, scalar.isFloat, owned.tensor.count > 0 {
            let codec = ElementCodec(scalar)
            for _ in 0...random.below(3) {
                codec.store(
                    random.pick([.nan, .infinity, -.infinity, 0, -0.0]), owned.tensor, random.below(owned.tensor.count))
            }
        }
        let isOpen = isDynamic
        let open = shape.indices.map {
            isOpen && ($0 != 1 || shape.count != 4 || random.chance(10)) && random.chance(60)
        }
        let id = graph.makeValue(
            .tensor(TensorType(scalar, shape.indices.map { open[$0] ? Dimension.unknown : Dimension(shape[$0]) })))
        graph.inputs.append(Port("i\(inputs.count)", id))
        inputs.append(id)
        tensors[id] = owned
        return id
    }

    mutating func constant(_ shape: [Int], _ given: ScalarType? = nil, _ value: (inout Random, Int) -> Double) throws
        -> ValueID
    {
        let scalar = given ?? self.scalar
        let owned = try tensor(scalar, shape, value)
        let bytes = withExtendedLifetime(owned) {
            Bytes(copying: UnsafeRawBufferPointer(start: owned.tensor.base, count: owned.tensor.byteCount))
        }
        let id = graph.append(
            Op.constantName, [], [NamedAttribute("value", .elements(Constant(bytes)))],
            results: [.tensor(TensorType(scalar, shape.map { Dimension($0) }))])[0]
        constants.append(id)
        tensors[id] = owned
        return id
    }

    mutating func weights(_ shape: [Int], _ scalar: ScalarType? = nil) throws -> ValueID {
        let scale = 1.5 / Double(max(1, shape.dropFirst().reduce(1, *))).squareRoot()
        return try constant(shape, scalar) { random, _ in random.number() * scale }
    }

    mutating func numbers(_ list: [Int]) throws -> ValueID {
        let scalar: ScalarType = random.chance(80) || list.contains { $0 < 0 } ? .int32 : .uint32
        return try constant([list.count], scalar) { _, index in Double(list[index]) }
    }

    mutating func number(_ value: Int) throws -> ValueID { try constant([], .int32) { _, _ in Double(value) } }

    /// A constant of one element, in one of the shapes exporters write.
    mutating func scalarConstant(_ value: Double, _ scalar: ScalarType? = nil) throws -> ValueID {
        try constant(random.pick([[], [], [1], [1, 1, 1, 1]]), scalar) { _, _ in value }
    }

    // MARK: Ops

    mutating func op(
        _ name: String, _ operands: [ValueID], _ attributes: [NamedAttribute] = [], as result: ScalarType? = nil
    ) throws -> ValueID {
        operationCount += 1
        let op = Op(name, operands: operands, attributes: attributes)
        let values = operands.compactMap { tensors[$0] }
        guard values.count == operands.count else { throw Refused() }
        let declared = result.map { [ValueType.tensor(TensorType($0, values[0].tensor.shape.map { Dimension($0) }))] }
        let results = try withExtendedLifetime(values) {
            do {
                return try runReference(op, operands: values.map(\.tensor), declared: declared)
            } catch { throw Refused() }
        }
        guard let first = results.first, results.count == 1 else { throw Refused() }
        guard first.tensor.count < 1 << 20 else { throw Refused() }
        let shape = first.tensor.shape.map {
            isDynamic || name.contains("non_zero") ? Dimension.unknown : Dimension($0)
        }
        let id = graph.append(name, operands, attributes, results: [.tensor(TensorType(first.tensor.scalar, shape))])[0]
        tensors[id] = first
        made.append(id)
        return id
    }

    /// A pointwise op of two operands, in a form that takes them.
    mutating func binary(_ name: String, _ a: ValueID, _ b: ValueID) throws -> ValueID {
        let plain = shape(a) == shape(b) && random.chance(50)
        return try op(plain ? "primitive.\(name)_v1" : "broadcasting_\(name)_v1", [a, b])
    }

    mutating func unary(_ name: String, _ a: ValueID) throws -> ValueID {
        try op(["relu", "sigmoid", "silu"].contains(name) ? "\(name)_v1" : "primitive.\(name)_v1", [a])
    }

    mutating func transpose(_ x: ValueID, _ permutation: [Int]) throws -> ValueID {
        try op("primitive.transpose_v1", [x, try numbers(permutation)])
    }

    mutating func reshape(_ x: ValueID, _ shape: [Int]) throws -> ValueID {
        try op("primitive.reshape_v2", [x, try numbers(shape)])
    }

    mutating func slice(_ x: ValueID, _ start: [Int], _ end: [Int], _ stride: [Int]? = nil) throws -> ValueID {
        try op(
            "primitive.slice_v1",
            [x, try numbers(start), try numbers(end), try numbers(stride ?? Array(repeating: 1, count: start.count))])
    }

    mutating func pad(_ x: ValueID, _ padding: [Int], _ value: Double) throws -> ValueID {
        let mode = NamedAttribute("padding_mode", .word("constant"))
        return try op(
            "primitive.pad_v1", [x, try numbers(padding), try constant([], scalar(x)) { _, _ in value }], [mode])
    }

    mutating func concat(_ axis: Int, _ parts: [ValueID]) throws -> ValueID {
        try op("primitive.concat_v1", [try number(axis)] + parts)
    }

    mutating func reduce(_ name: String, _ x: ValueID, _ axes: [Int]) throws -> ValueID {
        try op("reduce_\(name)_v1", [x, try numbers(axes)])
    }

    mutating func softmax(_ x: ValueID, _ axis: Int) throws -> ValueID { try op("softmax_v1", [x, try number(axis)]) }

    mutating func matmul(_ a: ValueID, _ b: ValueID) throws -> ValueID {
        let isPlain = shape(a).dropLast(2) == shape(b).dropLast(2) && random.chance(50)
        return try op(isPlain ? "primitive.batch_matmul_v1" : "broadcasting_batch_matmul_v1", [a, b])
    }

    /// The last value, and now and then others: from the middle, twice, inputs and constants.
    mutating func chooseOutputs() {
        guard let last = made.last else { return }
        var outputs = [last]
        if random.chance(35) { for _ in 0...random.below(3) { outputs.append(random.pick(made)) } }
        if random.chance(6) { outputs.append(last) }
        if random.chance(4), !inputs.isEmpty { outputs.append(random.pick(inputs)) }
        if random.chance(4), !constants.isEmpty { outputs.append(random.pick(constants)) }
        graph.outputs = outputs.enumerated().map { Port("o\($0)", $1) }
    }
}
