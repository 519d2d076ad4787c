import CoreAIGraph

extension PointwiseProgram {
    /// Conversion by the rules of `primitive.cast`: to integers toward zero and saturating, NaN to 0; to bool nonzero or
    /// NaN; complex to real its real part.
    static func cast(
        _ source: Node, _ a: UnsafeMutableRawPointer, _ node: Node, _ out: UnsafeMutableRawPointer, _ count: Int
    ) {
        switch node.lane {
        case .float:
            let y = out.assumingMemoryBound(to: Float.self)
            read(source, a, count, { y[$0] = $1 }, { y[$0] = Float($1) }, { y[$0] = Float($1) })
        case .double:
            let y = out.assumingMemoryBound(to: Double.self)
            let widen = IntegerWidening(from: source.scalar, to: node.scalar)
            read(source, a, count, { y[$0] = Double($1) }, { y[$0] = $1 }, { y[$0] = widen($1) })
        case .complex:
            let y = out.assumingMemoryBound(to: ComplexPair.self)
            if source.lane == .complex {
                y.update(from: a.assumingMemoryBound(to: ComplexPair.self), count: count)
            } else {
                let widen = IntegerWidening(from: source.scalar, to: node.scalar.complexPart ?? node.scalar)
                read(source, a, count, { y[$0] = ComplexPair(Double($1), 0) }, { y[$0] = ComplexPair($1, 0) }, {
                    y[$0] = ComplexPair(widen($1), 0)
                })
            }
        case .integer:
            let y = out.assumingMemoryBound(to: Int.self)
            if node.scalar == .bool {
                read(source, a, count, { y[$0] = $1 == 0 ? 0 : 1 }, { y[$0] = $1 == 0 ? 0 : 1 }, { y[$0] = $1 == 0 ? 0 : 1 })
                return
            }
            let range = IntegerRange(node.scalar)
            read(source, a, count, { y[$0] = range.saturating(Double($1)) }, { y[$0] = range.saturating($1) }) { i, value in
                y[i] = range.saturating(value, isUnsigned64: source.scalar == .uint64)
            }
        }
    }

    @inline(__always)
    private static func read(
        _ source: Node, _ a: UnsafeMutableRawPointer, _ count: Int, _ float: (Int, Float) -> Void,
        _ double: (Int, Double) -> Void, _ integer: (Int, Int) -> Void
    ) {
        switch source.lane {
        case .float:
            let x = a.assumingMemoryBound(to: Float.self)
            for i in 0..<count { float(i, x[i]) }
        case .double:
            let x = a.assumingMemoryBound(to: Double.self)
            for i in 0..<count { double(i, x[i]) }
        case .integer:
            let x = a.assumingMemoryBound(to: Int.self)
            for i in 0..<count { integer(i, x[i]) }
        case .complex:
            let x = a.assumingMemoryBound(to: ComplexPair.self)
            for i in 0..<count { double(i, x[i].real) }
        }
    }
}

/// Integers on their way through `Double` to a float type. Where that type is narrower the `Double` is exact but for one bit
/// that says whether something lay below it, so that the second rounding is the only one.
private struct IntegerWidening {
    private let isUnsigned64: Bool
    private let isExactTarget: Bool

    init(from source: ScalarType, to target: ScalarType) {
        isUnsigned64 = source == .uint64
        isExactTarget = target == .float64
    }

    @inline(__always) func callAsFunction(_ value: Int) -> Double {
        let isNegative = value < 0 && !isUnsigned64
        var magnitude = isNegative ? value.magnitude : UInt(bitPattern: value)
        if !isExactTarget, magnitude >> 53 != 0 {
            let isInexact = magnitude & 0xfff != 0
            magnitude = magnitude & ~0xfff | (isInexact ? 0x1000 : 0)
        }
        return isNegative ? -Double(magnitude) : Double(magnitude)
    }
}

/// The numbers an integer type of up to 64 bits holds.
struct IntegerRange {
    let low: Int
    /// The largest number; of `uint64` its bit pattern.
    let high: Int
    private let isUnsigned64: Bool
    private let lowBound: Double
    private let highBound: Double

    init(_ scalar: ScalarType) {
        let bits = scalar.bitWidth
        isUnsigned64 = scalar == .uint64
        if scalar.isSignedInteger {
            low = bits >= 64 ? .min : -(1 << (bits - 1))
            high = bits >= 64 ? .max : (1 << (bits - 1)) - 1
        } else {
            low = 0
            high = bits >= 64 ? -1 : (1 << bits) - 1
        }
        lowBound = Double(low)
        highBound = isUnsigned64 ? 0x1p64 : Double(high)
    }

    @inline(__always) func saturating(_ value: Double) -> Int {
        if value != value { return 0 }
        if value <= lowBound { return low }
        if value >= highBound { return high }
        return isUnsigned64 ? Int(bitPattern: UInt(value)) : Int(value)
    }

    @inline(__always) func saturating(_ value: Int, isUnsigned64 source: Bool) -> Int {
        if source && value < 0 { return isUnsigned64 ? value : high }
        if isUnsigned64 { return max(value, 0) }
        return min(max(value, low), high)
    }
}

extension ElementCodec {
    /// Stores as `cast` does: the 8-bit floats answer what they cannot hold by their own rules instead of saturating.
    func store(_ value: Double, overflowing tensor: HostTensor, _ index: Int) {
        switch scalar {
        // 464 lies halfway between 448, the largest number, and 480, which does not exist.
        case .float8e4m3fn where value.magnitude > 464: store(.nan, tensor, index)
        case .float8e5m2 where value.magnitude >= 61440:
            tensor.pointer(as: UInt8.self)[index] = value < 0 ? 0xfc : 0x7c
        case .float8e8m0fn where value.isInfinite: store(.nan, tensor, index)
        default: store(value, tensor, index)
        }
    }
}
