/// The type of one element of a tensor. Cases and their order are those of Core AI's `NDArray.ScalarType`.
public enum ScalarType: UInt8, Hashable, Sendable, CaseIterable {
    case bool
    case int2, int3, int4, int5, int6, int7, int8, int16, int32, int64, int128
    case uint1, uint2, uint3, uint4, uint5, uint6, uint7, uint8, uint16, uint32, uint64, uint128
    case float8e5m2, float8e4m3fn, float8e8m0fn, float4e2m1fn
    case float16, float32, float64, bfloat16
    case cfloat16, cfloat32, cfloat64
}

extension ScalarType {
    /// The number of bits that carry one element's value; 8 for `bool`, which is stored as a byte.
    public var bitWidth: Int {
        switch self {
        case .uint1: 1
        case .int2, .uint2: 2
        case .int3, .uint3: 3
        case .int4, .uint4, .float4e2m1fn: 4
        case .int5, .uint5: 5
        case .int6, .uint6: 6
        case .int7, .uint7: 7
        case .bool, .int8, .uint8, .float8e5m2, .float8e4m3fn, .float8e8m0fn: 8
        case .int16, .uint16, .float16, .bfloat16: 16
        case .int32, .uint32, .float32, .cfloat16: 32
        case .int64, .uint64, .float64, .cfloat32: 64
        case .int128, .uint128, .cfloat64: 128
        }
    }

    /// The bytes one element takes where kernels compute: types narrower than a byte take a whole byte there, the
    /// value in its low bits and, for signed integers, sign-extended.
    public var byteStride: Int { (bitWidth + 7) / 8 }

    public var isSubByte: Bool { bitWidth < 8 }

    public var isSignedInteger: Bool {
        switch self {
        case .int2, .int3, .int4, .int5, .int6, .int7, .int8, .int16, .int32, .int64, .int128: true
        default: false
        }
    }

    public var isUnsignedInteger: Bool {
        switch self {
        case .uint1, .uint2, .uint3, .uint4, .uint5, .uint6, .uint7, .uint8, .uint16, .uint32, .uint64, .uint128: true
        default: false
        }
    }

    public var isInteger: Bool { isSignedInteger || isUnsignedInteger }

    /// True for real floating-point types, the 8- and 4-bit ones included.
    public var isFloat: Bool {
        switch self {
        case .float8e5m2, .float8e4m3fn, .float8e8m0fn, .float4e2m1fn, .float16, .float32, .float64, .bfloat16: true
        default: false
        }
    }

    public var isComplex: Bool {
        switch self {
        case .cfloat16, .cfloat32, .cfloat64: true
        default: false
        }
    }

    /// The type of the real and imaginary part of a complex type.
    public var complexPart: ScalarType? {
        switch self {
        case .cfloat16: .float16
        case .cfloat32: .float32
        case .cfloat64: .float64
        default: nil
        }
    }

    /// The name in the text form of graphs and in messages, which is the case's own name.
    public var name: String { String(describing: self) }

    /// The name in an asset summary, as Core AI prints it: `Float32`, `BFloat16`, `UInt8`, `Bool`.
    public var displayName: String {
        switch self {
        case .bool: "Bool"
        case .bfloat16: "BFloat16"
        case .float8e5m2: "Float8E5M2"
        case .float8e4m3fn: "Float8E4M3FN"
        case .float8e8m0fn: "Float8E8M0FN"
        case .float4e2m1fn: "Float4E2M1FN"
        case .cfloat16, .cfloat32, .cfloat64: "Complex" + (complexPart?.displayName ?? "")
        case _ where isUnsignedInteger: "UInt\(bitWidth)"
        case _ where isSignedInteger: "Int\(bitWidth)"
        default: "Float\(bitWidth)"
        }
    }

    public init?(name: some StringProtocol) {
        guard let match = Self.allCases.first(where: { $0.name == name }) else { return nil }
        self = match
    }
}
