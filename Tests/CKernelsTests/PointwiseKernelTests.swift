import CKernels
import Foundation
import Testing

/// A program with its operands, run by a level and by the formulas of its codes.
private struct Program {
    struct Operand {
        var type = COREAI_PW_FLOAT
        var strides: [Int]
        var values: [Float]
    }
    struct Step {
        var code: coreai_pointwise_code
        var a = 0, b = 0, c = 0
    }
    var shape: [Int]
    var operands: [Operand]
    var constants: [Float] = []
    var steps: [Step]
    var resultType = COREAI_PW_FLOAT

    var count: Int { shape.reduce(1, *) }

    /// Elements of `range`; the others of the result are -7.
    func run(_ kernels: coreai_kernels, _ range: Range<Int>) -> [Float] {
        var result = encode([Float](repeating: -7, count: count), resultType)
        let stored = operands.map { encode($0.values, $0.type) }
        let descriptions = operands.map { operand in
            var description = coreai_pointwise_operand()
            description.type = Int32(operand.type.rawValue)
            withUnsafeMutableBytes(of: &description.strides) { bytes in
                for (i, stride) in operand.strides.enumerated() {
                    bytes.storeBytes(of: stride, toByteOffset: i * MemoryLayout<Int>.stride, as: Int.self)
                }
            }
            return description
        }
        let steps = self.steps.map {
            coreai_pointwise_step(code: Int32($0.code.rawValue), a: Int32($0.a), b: Int32($0.b), c: Int32($0.c))
        }
        descriptions.withUnsafeBufferPointer { descriptions in
            constants.withUnsafeBufferPointer { constants in
                steps.withUnsafeBufferPointer { steps in
                    guard let firstStep = steps.baseAddress else { return }
                    var program = coreai_pointwise(
                        operand_count: Int32(operands.count), constant_count: Int32(constants.count),
                        step_count: Int32(steps.count), result_type: Int32(resultType.rawValue),
                        operands: descriptions.baseAddress, constants: constants.baseAddress, steps: firstStep,
                        rank: Int32(shape.count), shape: (0, 0, 0, 0, 0, 0))
                    withUnsafeMutableBytes(of: &program.shape) { bytes in
                        for (i, size) in shape.enumerated() {
                            bytes.storeBytes(of: size, toByteOffset: i * MemoryLayout<Int>.stride, as: Int.self)
                        }
                    }
                    withPointers(stored) { pointers in
                        result.withUnsafeMutableBytes { result in
                            guard let to = result.baseAddress else { return }
                            kernels.pointwise(&program, pointers, to, range.lowerBound, range.upperBound)
                        }
                    }
                }
            }
        }
        return decode(result, resultType)
    }

    /// By the formulas, one element after the other.
    func formula(_ element: Int) -> Float {
        var index = [Int](repeating: 0, count: shape.count)
        var rest = element
        for axis in shape.indices.reversed() {
            (rest, index[axis]) = rest.quotientAndRemainder(dividingBy: shape[axis])
        }
        var registers = operands.map { operand in
            let place = zip(index, operand.strides).reduce(0) { $0 + $1.0 * $1.1 }
            return decode(encode([operand.values[place]], operand.type), operand.type)[0]
        }
        registers += constants
        for step in steps {
            registers.append(value(step.code, registers[step.a], registers[step.b], registers[step.c]))
        }
        return decode(encode([registers[registers.count - 1]], resultType), resultType)[0]
    }
}

private func withPointers(_ arrays: [[UInt8]], _ body: (UnsafePointer<UnsafeRawPointer>?) -> Void) {
    let copies = arrays.map { array in
        let copy = UnsafeMutableRawBufferPointer.allocate(byteCount: array.count, alignment: 16)
        copy.copyBytes(from: array)
        return copy
    }
    defer { copies.forEach { $0.deallocate() } }
    copies.compactMap { $0.baseAddress.map { UnsafeRawPointer($0) } }.withUnsafeBufferPointer { body($0.baseAddress) }
}

private func encode(_ values: [Float], _ type: coreai_pointwise_type) -> [UInt8] {
    switch type {
    case COREAI_PW_FLOAT: values.withUnsafeBytes { Array($0) }
    case COREAI_PW_BOOL: values.map { $0 == 0 ? 0 : 1 }
    case COREAI_PW_HALF: values.map { Float16($0) }.withUnsafeBytes { Array($0) }
    default: values.map { UInt16(roundedToBfloat($0).bitPattern >> 16) }.withUnsafeBytes { Array($0) }
    }
}

private func decode(_ bytes: [UInt8], _ type: coreai_pointwise_type) -> [Float] {
    func load<T>(_: T.Type, _ widen: (T) -> Float) -> [Float] {
        bytes.withUnsafeBytes { bytes in
            (0..<bytes.count / MemoryLayout<T>.size).map {
                widen(bytes.loadUnaligned(fromByteOffset: $0 * MemoryLayout<T>.size, as: T.self))
            }
        }
    }
    return switch type {
    case COREAI_PW_FLOAT: load(Float.self) { $0 }
    case COREAI_PW_BOOL: load(UInt8.self) { Float($0) }
    case COREAI_PW_HALF: load(Float16.self) { Float($0) }
    default: load(UInt16.self) { Float(bitPattern: UInt32($0) << 16) }
    }
}

private func roundedToBfloat(_ x: Float) -> Float {
    if x.isNaN { return Float(bitPattern: (x.bitPattern | 0x40_0000) & 0xffff_0000) }
    return Float(bitPattern: (x.bitPattern &+ 0x7fff &+ (x.bitPattern >> 16 & 1)) & 0xffff_0000)
}

private let exactCodes = [
    COREAI_PW_ADD, COREAI_PW_SUB, COREAI_PW_MUL, COREAI_PW_DIV, COREAI_PW_MIN, COREAI_PW_MAX, COREAI_PW_MOD,
    COREAI_PW_EQUAL, COREAI_PW_NOT_EQUAL, COREAI_PW_GREATER, COREAI_PW_AND, COREAI_PW_OR, COREAI_PW_SELECT,
    COREAI_PW_FMA,
    COREAI_PW_NEG, COREAI_PW_ABS, COREAI_PW_SIGN, COREAI_PW_SQRT, COREAI_PW_RSQRT, COREAI_PW_FLOOR, COREAI_PW_CEIL,
    COREAI_PW_ROUND, COREAI_PW_TRUNC, COREAI_PW_NOT, COREAI_PW_IS_NAN, COREAI_PW_CLAMP, COREAI_PW_ROUND_HALF,
    COREAI_PW_ROUND_BFLOAT,
]
/// With the error allowed, relative and of numbers below 1 absolute.
private let roundedCodes: [(coreai_pointwise_code, Double)] = [
    (COREAI_PW_POW, 4e-7), (COREAI_PW_EXP, 4e-7), (COREAI_PW_EXP2, 4e-7), (COREAI_PW_LOG, 4e-7), (COREAI_PW_SIN, 4e-7),
    (COREAI_PW_COS, 4e-7), (COREAI_PW_TANH, 4e-7), (COREAI_PW_ERF, 4e-7), (COREAI_PW_SIGMOID, 4e-7),
    (COREAI_PW_SILU, 4e-7),
    (COREAI_PW_GELU, 8e-7), (COREAI_PW_GELU_TANH, 8e-7), (COREAI_PW_HARD_SWISH, 4e-7),
]

private func value(_ code: coreai_pointwise_code, _ a: Float, _ b: Float, _ c: Float) -> Float {
    func truth(_ condition: Bool) -> Float { condition ? 1 : 0 }
    func sigmoid(_ x: Double) -> Double { 1 / (1 + exp(-x)) }
    func larger(_ a: Float, _ b: Float) -> Float { a >= b || a.isNaN ? a : b }
    func smaller(_ a: Float, _ b: Float) -> Float { a <= b || a.isNaN ? a : b }
    let x = Double(a)
    switch code {
    case COREAI_PW_ADD: return a + b
    case COREAI_PW_SUB: return a - b
    case COREAI_PW_MUL: return a * b
    case COREAI_PW_DIV: return a / b
    case COREAI_PW_MIN: return smaller(a, b)
    case COREAI_PW_MAX: return larger(a, b)
    case COREAI_PW_POW: return powf(a, b)
    case COREAI_PW_MOD: return fmodf(a, b)
    case COREAI_PW_EQUAL: return truth(a == b)
    case COREAI_PW_NOT_EQUAL: return truth(a != b)
    case COREAI_PW_GREATER: return truth(a > b)
    case COREAI_PW_AND: return truth(a != 0 && b != 0)
    case COREAI_PW_OR: return truth(a != 0 || b != 0)
    case COREAI_PW_SELECT: return a != 0 ? b : c
    case COREAI_PW_FMA: return fmaf(a, b, c)
    case COREAI_PW_NEG: return -a
    case COREAI_PW_ABS: return abs(a)
    case COREAI_PW_SIGN: return a > 0 ? 1 : a < 0 ? -1 : a
    case COREAI_PW_SQRT: return a.squareRoot()
    case COREAI_PW_RSQRT: return 1 / a.squareRoot()
    case COREAI_PW_EXP: return Float(exp(x))
    case COREAI_PW_EXP2: return Float(exp2(x))
    case COREAI_PW_LOG: return Float(log(x))
    case COREAI_PW_SIN: return Float(sin(x))
    case COREAI_PW_COS: return Float(cos(x))
    case COREAI_PW_TANH: return Float(tanh(x))
    case COREAI_PW_ERF: return Float(erf(x))
    case COREAI_PW_FLOOR: return a.rounded(.down)
    case COREAI_PW_CEIL: return a.rounded(.up)
    case COREAI_PW_ROUND: return a.rounded(.toNearestOrEven)
    case COREAI_PW_TRUNC: return a.rounded(.towardZero)
    case COREAI_PW_NOT: return truth(a == 0)
    case COREAI_PW_IS_NAN: return truth(a.isNaN)
    case COREAI_PW_SIGMOID: return Float(sigmoid(x))
    case COREAI_PW_SILU: return Float(x * sigmoid(x))
    case COREAI_PW_GELU: return a == -.infinity ? .nan : Float(0.5 * x * erfc(-x / 2.0.squareRoot()))
    case COREAI_PW_GELU_TANH:
        return a == -.infinity
            ? .nan : Float(x * sigmoid(2 * (2 / Double.pi).squareRoot() * (x + 0.044715 * x * x * x)))
    case COREAI_PW_HARD_SWISH: return Float(x.isNaN ? x : x * (min(max(x + 3, 0), 6) / 6))
    case COREAI_PW_CLAMP: return smaller(larger(a, b), c)
    case COREAI_PW_ROUND_HALF: return Float(Float16(a))
    default: return roundedToBfloat(a)
    }
}

private let specials: [Float] = [
    0, -0.0, 1, -1, 0.5, 1.5, 2.5, -2.5, 2, 3, -3, 0x1p-133, -0x1p-133, 0.1, -0.7, 5.6, -5.6, 88, 89, -88, -104, 1e10,
    -1e10, 65519,
    65520, 8_388_607.5, 3e38, -3e38, .infinity, -.infinity, .nan,
]

private func isSame(_ a: Float, _ b: Float) -> Bool { a.bitPattern == b.bitPattern || (a.isNaN && b.isNaN) }

@Suite struct PointwiseKernelTests {
    /// All triples of special numbers, also with a constant for the second and third.
    @Test(arguments: kernelLevels) func everyCodeIsItsFormula(level: String) throws {
        let kernels = try kernels(level)
        let n = specials.count
        let strides = [[n, 1], [0, 1]]
        for (code, tolerance) in exactCodes.map({ ($0, 0) }) + roundedCodes {
            for b in specials {
                let first = Program.Operand(strides: strides[1], values: specials)
                let second = Program.Operand(
                    strides: strides[0], values: specials.flatMap { x in specials.map { _ in x } })
                let programs = [
                    Program(
                        shape: [n, n], operands: [first, second], constants: [b],
                        steps: [.init(code: code, a: 0, b: 1, c: 2)]),
                    Program(
                        shape: [n, n], operands: [first, second], constants: [b],
                        steps: [.init(code: code, a: 0, b: 2, c: 1)]),
                    Program(
                        shape: [n, n], operands: [second, first], constants: [b],
                        steps: [.init(code: code, a: 2, b: 0, c: 1)]),
                ]
                for program in programs {
                    let got = program.run(kernels, 0..<program.count)
                    for i in got.indices {
                        let want = program.formula(i)
                        let isRight = tolerance == 0 ? isSame(got[i], want) : isClose(got[i], Double(want), tolerance)
                        guard isRight else {
                            Issue.record("\(code), constant \(b), element \(i): \(got[i]), expected \(want)")
                            return
                        }
                    }
                }
            }
        }
    }

    private static let shapes = [
        [1], [5], [1000], [3, 4, 5], [40, 3], [3, 700], [2, 50, 30], [7, 1, 9, 2], [2, 3, 1, 2, 5, 4], [],
    ]

    /// Operands of every type, dense and broadcast over any set of axes, in programs whose registers are used again.
    @Test(arguments: kernelLevels) func broadcastOperandsAreReadAtTheirPlaces(level: String) throws {
        let kernels = try kernels(level)
        var numbers = Numbers(seed: 7)
        let types = [COREAI_PW_FLOAT, COREAI_PW_HALF, COREAI_PW_BFLOAT, COREAI_PW_BOOL]
        for shape in Self.shapes {
            for kept in 0..<(1 << shape.count) {
                for type in types {
                    func operand(_ kept: Int, _ type: coreai_pointwise_type) -> Program.Operand {
                        var (strides, size) = (shape, 1)
                        for axis in shape.indices.reversed() {
                            strides[axis] = kept >> axis & 1 == 1 ? size : 0
                            if kept >> axis & 1 == 1 { size *= shape[axis] }
                        }
                        return .init(type: type, strides: strides, values: numbers.array(size))
                    }
                    let all = (1 << shape.count) - 1
                    var program = Program(
                        shape: shape,
                        operands: [operand(kept, type), operand(all, COREAI_PW_FLOAT), operand(all & ~kept, type)],
                        constants: [0.75],
                        steps: [
                            .init(code: COREAI_PW_MUL, a: 0, b: 3), .init(code: COREAI_PW_ADD, a: 4, b: 1),
                            .init(code: COREAI_PW_SUB, a: 2, b: 5), .init(code: COREAI_PW_MAX, a: 6, b: 4),
                        ])
                    program.resultType = type
                    let range = program.count / 3..<program.count
                    let got = program.run(kernels, range)
                    for i in got.indices {
                        let want = range.contains(i) ? program.formula(i) : type == COREAI_PW_BOOL ? 1 : -7
                        guard isSame(got[i], want) else {
                            Issue.record("\(shape), axes \(kept), \(type), element \(i): \(got[i]), expected \(want)")
                            return
                        }
                    }
                }
            }
        }
    }

    /// Two steps of arithmetic in one pass are still two roundings.
    @Test(arguments: kernelLevels) func everyPairOfStepsIsItsFormula(level: String) throws {
        let kernels = try kernels(level)
        let codes = [COREAI_PW_ADD, COREAI_PW_SUB, COREAI_PW_MUL, COREAI_PW_DIV, COREAI_PW_MIN, COREAI_PW_MAX]
        let n = specials.count
        let first = Program.Operand(strides: [0, 1], values: specials)
        let second = Program.Operand(strides: [1, 0], values: specials)
        for (one, two) in codes.flatMap({ one in codes.map { (one, $0) } }) {
            for (y, z) in [(1, 2), (1, 0), (2, 3)] {
                for isFirst in [true, false] {
                    let program = Program(
                        shape: [n, n], operands: [first, second], constants: [0.3, -0.0],
                        steps: [
                            .init(code: one, a: 0, b: y), .init(code: two, a: isFirst ? 4 : z, b: isFirst ? z : 4),
                        ])
                    let got = program.run(kernels, 0..<program.count)
                    if let i = got.indices.first(where: { !isSame(got[$0], program.formula($0)) }) {
                        Issue.record("\(one), \(two), element \(i): \(got[i]), expected \(program.formula(i))")
                        return
                    }
                }
            }
        }
    }

    @Test(arguments: kernelLevels) func theLongestProgramFits(level: String) throws {
        let kernels = try kernels(level)
        var numbers = Numbers(seed: 8)
        let operands = (0..<4).map { _ in
            Program.Operand(type: COREAI_PW_HALF, strides: [1], values: numbers.array(1500))
        }
        // Every step reads the four operands' sum so far and the register of four steps before, so that many stay alive.
        let steps = (4..<Int(COREAI_PW_MAX_REGISTERS)).map { Program.Step(code: COREAI_PW_SUB, a: $0 - 1, b: $0 / 2) }
        let program = Program(shape: [1500], operands: operands, steps: steps)
        let got = program.run(kernels, 0..<1500)
        #expect(got.indices.allSatisfy { isSame(got[$0], program.formula($0)) })
    }
}
