package import CoreAIGraph
import Glibc

/// Numbers in and out of the elements of a real type, exact where the target can hold them.
package struct ElementCodec {
    package let scalar: ScalarType
    private let magnitudes: [Double]

    package init(_ scalar: ScalarType) {
        self.scalar = scalar
        magnitudes = smallFloatMagnitudes(scalar)
    }

    /// True if `Float` holds every value of the type, so that arithmetic on it is done in `Float`.
    package var computesInFloat: Bool {
        scalar != .float64 && !(scalar.isInteger && scalar.bitWidth > 16)
    }

    package func load(_ tensor: HostTensor, _ index: Int) -> Double {
        switch scalar {
        case .float64: return tensor.pointer(as: Double.self)[index]
        case .float32: return Double(tensor.pointer(as: Float.self)[index])
        case .float16: return Double(tensor.pointer(as: Float16.self)[index])
        case .bfloat16: return Double(Float(bitPattern: UInt32(tensor.pointer(as: UInt16.self)[index]) << 16))
        case .uint64: return Double(tensor.pointer(as: UInt64.self)[index])
        case _ where scalar.isFloat: return decoded(tensor.pointer(as: UInt8.self)[index])
        default: return Double(tensor.integer(at: index))
        }
    }

    /// Rounds to nearest even for floating-point types; toward zero, saturating, NaN to 0, for integers.
    package func store(_ value: Double, _ tensor: HostTensor, _ index: Int) {
        switch scalar {
        case .float64: tensor.pointer(as: Double.self)[index] = value
        case .float32: tensor.pointer(as: Float.self)[index] = Float(value)
        case .float16: tensor.pointer(as: Float16.self)[index] = Float16(value)
        case .bfloat16: tensor.pointer(as: UInt16.self)[index] = bfloat16Bits(value)
        case _ where scalar.isFloat: tensor.pointer(as: UInt8.self)[index] = saturated(value)
        case .bool: tensor.pointer(as: UInt8.self)[index] = value == 0 ? 0 : 1
        case .uint64: tensor.pointer(as: UInt64.self)[index] = value >= 0x1p64 ? .max : value > 0 ? UInt64(value) : 0
        default: tensor.storeWrapped(integer(value), at: index)
        }
    }

    /// The value rounded to the type, as storing it and loading it again would give.
    package func rounded(_ value: Double) -> Double {
        switch scalar {
        case .float32: Double(Float(value))
        case .float16: Double(Float16(value))
        case .bfloat16: Double(Float(bitPattern: UInt32(bfloat16Bits(value)) << 16))
        default: value
        }
    }

    /// The least and the largest integer of an integer type.
    package var integerBounds: (Double, Double) {
        let bits = scalar == .bool ? 1 : scalar.bitWidth
        let signed = scalar.isSignedInteger
        let top = Double(sign: .plus, exponent: signed ? bits - 1 : bits, significand: 1)
        return (signed ? -top : 0, top - 1)
    }

    private func integer(_ value: Double) -> Int {
        if value.isNaN { return 0 }
        let (low, high) = integerBounds
        let bounded = min(max(value.rounded(.towardZero), low), high)
        return Int(exactly: bounded) ?? (bounded < 0 ? .min : .max)
    }

    private func decoded(_ bits: UInt8) -> Double {
        if scalar == .float8e8m0fn { return bits == 0xff ? .nan : magnitudes[Int(bits)] }
        let sign = scalar == .float4e2m1fn ? UInt8(8) : 0x80
        let magnitude = magnitudes[Int(bits & (sign - 1))]
        return bits & sign == 0 ? magnitude : -magnitude
    }

    /// The code of the nearest value; of two equally near, the even code. Out of range becomes the largest.
    private func saturated(_ value: Double) -> UInt8 {
        let sign = scalar == .float4e2m1fn ? UInt8(8) : scalar == .float8e8m0fn ? 0 : 0x80
        if value.isNaN { return scalar == .float4e2m1fn ? 0 : scalar == .float8e8m0fn ? 0xff : 0x7f }
        let target = scalar == .float8e8m0fn ? max(value, 0) : value.magnitude
        var best = 0
        for (code, magnitude) in magnitudes.enumerated() where magnitude.isFinite {
            let (distance, shortest) = (abs(magnitude - target), abs(magnitudes[best] - target))
            if distance < shortest || (distance == shortest && code % 2 == 0) { best = code }
        }
        if target == .infinity { best = magnitudes.lastIndex(where: \.isFinite) ?? 0 }
        return UInt8(best) | (value.sign == .minus ? sign : 0)
    }
}

private func bfloat16Bits(_ value: Double) -> UInt16 {
    if value.isNaN { return 0x7fc0 }
    // Rounding to odd on the way to float keeps the second rounding from going astray.
    var float = Float(value)
    if Double(float) != value, float.isFinite {
        if Double(float.magnitude) > value.magnitude { float = Float(bitPattern: float.bitPattern - 1) }
        float = Float(bitPattern: float.bitPattern | 1)
    }
    let bits = float.bitPattern
    if !float.isFinite { return UInt16(bits >> 16) }
    return UInt16(truncatingIfNeeded: (bits + 0x7fff + ((bits >> 16) & 1)) >> 16)
}

/// The values of the codes without sign bit, in order; infinity and NaN where a code means them.
private func smallFloatMagnitudes(_ scalar: ScalarType) -> [Double] {
    func table(exponentBits: Int, mantissaBits: Int, bias: Int) -> [Double] {
        (0..<1 << (exponentBits + mantissaBits)).map { code in
            let (exponent, mantissa) = (code >> mantissaBits, code & ((1 << mantissaBits) - 1))
            let fraction = Double(mantissa) / Double(1 << mantissaBits)
            return exponent == 0
                ? Double(sign: .plus, exponent: 1 - bias, significand: fraction)
                : Double(sign: .plus, exponent: exponent - bias, significand: 1 + fraction)
        }
    }
    switch scalar {
    case .float8e5m2:
        return table(exponentBits: 5, mantissaBits: 2, bias: 15).dropLast(4) + [.infinity, .nan, .nan, .nan]
    case .float8e4m3fn: return table(exponentBits: 4, mantissaBits: 3, bias: 7).dropLast() + [.nan]
    case .float4e2m1fn: return table(exponentBits: 2, mantissaBits: 1, bias: 1)
    case .float8e8m0fn:
        return (0..<256).map { $0 == 255 ? .nan : Double(sign: .plus, exponent: $0 - 127, significand: 1) }
    default: return []
    }
}

extension HostTensor {
    /// One element of an integer or boolean tensor, a 64-bit unsigned one as its bit pattern.
    package func integer(at index: Int) -> Int {
        switch scalar {
        case .int16: Int(pointer(as: Int16.self)[index])
        case .uint16: Int(pointer(as: UInt16.self)[index])
        case .int32: Int(pointer(as: Int32.self)[index])
        case .uint32: Int(pointer(as: UInt32.self)[index])
        case .int64: Int(pointer(as: Int64.self)[index])
        case .uint64: Int(bitPattern: UInt(pointer(as: UInt64.self)[index]))
        case _ where scalar.isSignedInteger: Int(pointer(as: Int8.self)[index])
        default: Int(pointer(as: UInt8.self)[index])
        }
    }

    /// Stores the low bits of a number in an element of an integer tensor of 8 to 64 bits.
    package func storeWrapped(_ value: Int, at index: Int) {
        switch scalar.byteStride {
        case 1: pointer(as: UInt8.self)[index] = UInt8(truncatingIfNeeded: value)
        case 2: pointer(as: UInt16.self)[index] = UInt16(truncatingIfNeeded: value)
        case 4: pointer(as: UInt32.self)[index] = UInt32(truncatingIfNeeded: value)
        default: pointer(as: UInt64.self)[index] = UInt64(truncatingIfNeeded: value)
        }
    }
}
