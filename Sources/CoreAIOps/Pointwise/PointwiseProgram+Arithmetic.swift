import CoreAIGraph
import Foundation

/// What the loops need of `Float` and `Double` beyond arithmetic.
private protocol LaneFloat: BinaryFloatingPoint {
    static func apply(_ function: ScalarExpression.Unary, _ x: Self) -> Self
    static func power(_ x: Self, _ y: Self) -> Self
    static func remainder(_ x: Self, _ y: Self) -> Self
}

extension Float: LaneFloat {
    @inline(__always) static func apply(_ function: ScalarExpression.Unary, _ x: Float) -> Float {
        switch function {
        case .acos: acosf(x)
        case .acosh: acoshf(x)
        case .asin: asinf(x)
        case .asinh: asinhf(x)
        case .atan: atanf(x)
        case .atanh: atanhf(x)
        case .cos: cosf(x)
        case .cosh: coshf(x)
        case .erf: erff(x)
        case .exp: expf(x)
        case .log: logf(x)
        case .sin: sinf(x)
        case .sinh: sinhf(x)
        case .tan: tanf(x)
        case .tanh: tanhf(x)
        default: x
        }
    }
    @inline(__always) static func power(_ x: Float, _ y: Float) -> Float { powf(x, y) }
    @inline(__always) static func remainder(_ x: Float, _ y: Float) -> Float { fmodf(x, y) }
}

extension Double: LaneFloat {
    @inline(__always) static func apply(_ function: ScalarExpression.Unary, _ x: Double) -> Double {
        switch function {
        case .acos: Foundation.acos(x)
        case .acosh: Foundation.acosh(x)
        case .asin: Foundation.asin(x)
        case .asinh: Foundation.asinh(x)
        case .atan: Foundation.atan(x)
        case .atanh: Foundation.atanh(x)
        case .cos: Foundation.cos(x)
        case .cosh: Foundation.cosh(x)
        case .erf: Foundation.erf(x)
        case .exp: Foundation.exp(x)
        case .log: Foundation.log(x)
        case .sin: Foundation.sin(x)
        case .sinh: Foundation.sinh(x)
        case .tan: Foundation.tan(x)
        case .tanh: Foundation.tanh(x)
        default: x
        }
    }
    @inline(__always) static func power(_ x: Double, _ y: Double) -> Double { pow(x, y) }
    @inline(__always) static func remainder(_ x: Double, _ y: Double) -> Double { fmod(x, y) }
}

// MARK: One operand

extension PointwiseProgram {
    func unary(
        _ operation: ScalarExpression.Unary, _ node: Node, _ source: Node, _ a: UnsafeMutableRawPointer,
        _ out: UnsafeMutableRawPointer, _ count: Int
    ) {
        switch source.lane {
        case .float:
            Self.unaryFloat(
                operation, a.assumingMemoryBound(to: Float.self), out.assumingMemoryBound(to: Float.self), count)
        case .double:
            Self.unaryFloat(
                operation, a.assumingMemoryBound(to: Double.self), out.assumingMemoryBound(to: Double.self), count)
        case .integer:
            let (x, y) = (a.assumingMemoryBound(to: Int.self), out.assumingMemoryBound(to: Int.self))
            let wrap = IntegerWrap(node.scalar)
            switch operation {
            case .not: for i in 0..<count { y[i] = x[i] == 0 ? 1 : 0 }
            case .abs where !source.scalar.isUnsignedInteger:
                for i in 0..<count { y[i] = wrap(x[i] < 0 ? 0 &- x[i] : x[i]) }
            case .negate: for i in 0..<count { y[i] = wrap(0 &- x[i]) }
            default: for i in 0..<count { y[i] = x[i] }
            }
        case .complex: Self.unaryComplex(operation, node, a.assumingMemoryBound(to: ComplexPair.self), out, count)
        }
    }

    private static func unaryFloat<T: LaneFloat>(
        _ operation: ScalarExpression.Unary, _ x: UnsafeMutablePointer<T>, _ y: UnsafeMutablePointer<T>, _ count: Int
    ) {
        switch operation {
        case .abs: for i in 0..<count { y[i] = x[i].magnitude }
        case .negate: for i in 0..<count { y[i] = -x[i] }
        case .sqrt: for i in 0..<count { y[i] = x[i].squareRoot() }
        case .rsqrt: for i in 0..<count { y[i] = 1 / x[i].squareRoot() }
        case .round: for i in 0..<count { y[i] = x[i].rounded(.toNearestOrEven) }
        case .not: for i in 0..<count { y[i] = x[i] == 0 ? 1 : 0 }
        case .realPart: for i in 0..<count { y[i] = x[i] }
        case .imaginaryPart: for i in 0..<count { y[i] = 0 }
        case .exp: for i in 0..<count { y[i] = T.apply(.exp, x[i]) }
        case .erf: for i in 0..<count { y[i] = T.apply(.erf, x[i]) }
        case .tanh: for i in 0..<count { y[i] = T.apply(.tanh, x[i]) }
        default: for i in 0..<count { y[i] = T.apply(operation, x[i]) }
        }
    }

    private static func unaryComplex(
        _ operation: ScalarExpression.Unary, _ node: Node, _ x: UnsafeMutablePointer<ComplexPair>,
        _ out: UnsafeMutableRawPointer, _ count: Int
    ) {
        if operation == .realPart || operation == .imaginaryPart {
            func part(_ value: ComplexPair) -> Double { operation == .realPart ? value.real : value.imaginary }
            for i in 0..<count {
                if node.lane == .float {
                    out.assumingMemoryBound(to: Float.self)[i] = Float(part(x[i]))
                } else {
                    out.assumingMemoryBound(to: Double.self)[i] = part(x[i])
                }
            }
            return
        }
        let y = out.assumingMemoryBound(to: ComplexPair.self)
        for i in 0..<count {
            y[i] =
                switch operation {
                case .negate: ComplexPair(0, 0) - x[i]
                case .exp: x[i].exponential
                case .log: x[i].logarithm
                case .sin: x[i].sine
                case .cos: x[i].cosine
                case .tan: x[i].sine / x[i].cosine
                case .sinh: x[i].hyperbolicSine
                case .cosh: x[i].hyperbolicCosine
                case .tanh: x[i].hyperbolicSine / x[i].hyperbolicCosine
                case .sqrt: x[i].power(ComplexPair(0.5, 0))
                default: x[i]
                }
        }
    }
}

// MARK: Two operands

extension PointwiseProgram {
    func binary(
        _ operation: ScalarExpression.Binary, _ node: Node, _ source: Node, _ a: UnsafeMutableRawPointer,
        _ b: UnsafeMutableRawPointer, _ out: UnsafeMutableRawPointer, _ count: Int, _ start: Int
    ) throws(KernelError) {
        func compare<T>(_: T.Type, _ body: (T, T) -> Bool) {
            let (x, y) = (a.assumingMemoryBound(to: T.self), b.assumingMemoryBound(to: T.self))
            let z = out.assumingMemoryBound(to: Int.self)
            for i in 0..<count { z[i] = body(x[i], y[i]) ? 1 : 0 }
        }
        func join<T: LaneFloat>(_: T.Type) {
            let (x, y) = (a.assumingMemoryBound(to: T.self), b.assumingMemoryBound(to: T.self))
            let z = out.assumingMemoryBound(to: ComplexPair.self)
            for i in 0..<count { z[i] = ComplexPair(Double(x[i]), Double(y[i])) }
        }
        switch (operation, source.lane) {
        case (.equal, .float): compare(Float.self, ==)
        case (.equal, .double): compare(Double.self, ==)
        case (.equal, .integer): compare(Int.self, ==)
        case (.equal, .complex): compare(ComplexPair.self, ==)
        case (.notEqual, .float): compare(Float.self, !=)
        case (.notEqual, .double): compare(Double.self, !=)
        case (.notEqual, .integer): compare(Int.self, !=)
        case (.notEqual, .complex): compare(ComplexPair.self) { !($0 == $1) }
        case (.greater, .float): compare(Float.self, >)
        case (.greater, .double): compare(Double.self, >)
        case (.greater, .integer):
            if source.scalar == .uint64 { compare(UInt.self, >) } else { compare(Int.self, >) }
        case (.greater, .complex): compare(ComplexPair.self) { $0.real > $1.real }
        case (.complex, .float): join(Float.self)
        case (.complex, .double): join(Double.self)
        case (_, .float):
            Self.binaryFloat(
                operation, a.assumingMemoryBound(to: Float.self), b.assumingMemoryBound(to: Float.self),
                out.assumingMemoryBound(to: Float.self), count)
        case (_, .double):
            Self.binaryFloat(
                operation, a.assumingMemoryBound(to: Double.self), b.assumingMemoryBound(to: Double.self),
                out.assumingMemoryBound(to: Double.self), count)
        case (_, .integer):
            try Self.binaryInteger(
                operation, node.scalar, a.assumingMemoryBound(to: Int.self), b.assumingMemoryBound(to: Int.self),
                out.assumingMemoryBound(to: Int.self), count, start)
        case (_, .complex):
            let (x, y) = (a.assumingMemoryBound(to: ComplexPair.self), b.assumingMemoryBound(to: ComplexPair.self))
            let z = out.assumingMemoryBound(to: ComplexPair.self)
            for i in 0..<count {
                z[i] =
                    switch operation {
                    case .add: x[i] + y[i]
                    case .subtract: x[i] - y[i]
                    case .multiply: x[i] * y[i]
                    case .divide: x[i] / y[i]
                    case .power: x[i].power(y[i])
                    default: throw KernelError("complex numbers have no \(operation)")
                    }
            }
        }
    }

    private static func binaryFloat<T: LaneFloat>(
        _ operation: ScalarExpression.Binary, _ x: UnsafeMutablePointer<T>, _ y: UnsafeMutablePointer<T>,
        _ z: UnsafeMutablePointer<T>, _ count: Int
    ) {
        switch operation {
        case .add: for i in 0..<count { z[i] = x[i] + y[i] }
        case .subtract: for i in 0..<count { z[i] = x[i] - y[i] }
        case .multiply: for i in 0..<count { z[i] = x[i] * y[i] }
        case .divide: for i in 0..<count { z[i] = x[i] / y[i] }
        case .floorDivide: for i in 0..<count { z[i] = (x[i] / y[i]).rounded(.down) }
        case .modulo: for i in 0..<count { z[i] = T.remainder(x[i], y[i]) }
        // NaN in either operand wins, and the first operand on a tie: +0 and -0 are one.
        case .maximum: for i in 0..<count { z[i] = x[i] >= y[i] || x[i] != x[i] ? x[i] : y[i] }
        case .minimum: for i in 0..<count { z[i] = x[i] <= y[i] || x[i] != x[i] ? x[i] : y[i] }
        case .power: for i in 0..<count { z[i] = T.power(x[i], y[i]) }
        default: for i in 0..<count { z[i] = .nan }
        }
    }

    private static func binaryInteger(
        _ operation: ScalarExpression.Binary, _ scalar: ScalarType, _ x: UnsafeMutablePointer<Int>,
        _ y: UnsafeMutablePointer<Int>, _ z: UnsafeMutablePointer<Int>, _ count: Int, _ start: Int
    ) throws(KernelError) {
        let wrap = IntegerWrap(scalar)
        let isUnsigned64 = scalar == .uint64
        func checkDivisors() throws(KernelError) {
            for i in 0..<count where y[i] == 0 { throw KernelError("integer division by zero at element \(start + i)") }
        }
        func unsigned(_ body: (UInt, UInt) -> UInt) {
            for i in 0..<count { z[i] = Int(bitPattern: body(UInt(bitPattern: x[i]), UInt(bitPattern: y[i]))) }
        }
        switch operation {
        case .add: for i in 0..<count { z[i] = wrap(x[i] &+ y[i]) }
        case .subtract: for i in 0..<count { z[i] = wrap(x[i] &- y[i]) }
        case .multiply: for i in 0..<count { z[i] = wrap(x[i] &* y[i]) }
        case .divide:
            try checkDivisors()
            if isUnsigned64 { return unsigned { $0 / $1 } }
            // MIN / -1 wraps to MIN.
            for i in 0..<count { z[i] = wrap(x[i].dividedReportingOverflow(by: y[i]).partialValue) }
        case .floorDivide:
            try checkDivisors()
            if isUnsigned64 { return unsigned { $0 / $1 } }
            for i in 0..<count {
                let quotient = x[i].dividedReportingOverflow(by: y[i]).partialValue
                let rest = x[i].remainderReportingOverflow(dividingBy: y[i]).partialValue
                z[i] = wrap(rest != 0 && (rest < 0) != (y[i] < 0) ? quotient &- 1 : quotient)
            }
        case .modulo:
            try checkDivisors()
            if isUnsigned64 { return unsigned { $0 % $1 } }
            for i in 0..<count { z[i] = x[i].remainderReportingOverflow(dividingBy: y[i]).partialValue }
        case .maximum:
            if isUnsigned64 { return unsigned(max) }
            for i in 0..<count { z[i] = max(x[i], y[i]) }
        case .minimum:
            if isUnsigned64 { return unsigned(min) }
            for i in 0..<count { z[i] = min(x[i], y[i]) }
        case .power: for i in 0..<count { z[i] = power(x[i], y[i], wrap, isUnsigned64) }
        case .bitwiseAnd, .logicalAnd: for i in 0..<count { z[i] = x[i] & y[i] }
        case .bitwiseOr, .logicalOr: for i in 0..<count { z[i] = x[i] | y[i] }
        case .bitwiseXor, .logicalXor: for i in 0..<count { z[i] = x[i] ^ y[i] }
        case .equal, .notEqual, .greater, .complex: throw KernelError("\(operation) has no integer result")
        }
    }

    /// Wraps; a negative exponent gives 0, and 0 to the power 0 is 1.
    private static func power(_ base: Int, _ exponent: Int, _ wrap: IntegerWrap, _ isUnsigned64: Bool) -> Int {
        if exponent < 0 && !isUnsigned64 { return 0 }
        var (result, factor, rest) = (1, base, UInt(bitPattern: exponent))
        while rest > 0 {
            if rest & 1 == 1 { result = wrap(result &* factor) }
            factor = wrap(factor &* factor)
            rest >>= 1
        }
        return result
    }
}

/// Cuts a number to the bits of a type, as arithmetic that wraps does.
struct IntegerWrap {
    private let shift: Int
    private let isSigned: Bool
    private let isBool: Bool

    init(_ scalar: ScalarType) {
        shift = max(0, 64 - scalar.bitWidth)
        isSigned = scalar.isSignedInteger
        isBool = scalar == .bool
    }

    @inline(__always) func callAsFunction(_ value: Int) -> Int {
        if isBool { return value == 0 ? 0 : 1 }
        if isSigned { return (value << shift) >> shift }
        return Int(bitPattern: (UInt(bitPattern: value) << shift) >> shift)
    }
}
