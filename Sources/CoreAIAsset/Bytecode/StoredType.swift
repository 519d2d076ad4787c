import CoreAIGraph

/// A type as stored, with the types and attributes it refers to by number.
enum StoredType {
    case scalar(ScalarType)
    case tensor([Int], element: Int, encoding: Int?)
    /// Results come first in the file.
    case function(results: [Int], inputs: [Int])
    case handle(Int)
    case token
    case image(fourCC: Int, height: Int, width: Int)
    /// A type that no value of ours can have, by name.
    case other(String)
}

extension StoredType {
    static let dynamicSize = Int.min

    /// Codes of types without fields.
    private static let plain: [UInt64: StoredType] = [
        4: .scalar(.bool), 5: .scalar(.float64), 6: .scalar(.float32), 7: .scalar(.float16), 8: .scalar(.bfloat16),
        9: .scalar(.float8e5m2), 10: .scalar(.float8e4m3fn), 11: .scalar(.cfloat64), 12: .scalar(.cfloat32),
        13: .scalar(.cfloat16), 14: .other("complex<bfloat16>"), 15: .other("complex<float8E5M2>"),
        16: .other("complex<float8E4M3FN>"), 17: .scalar(.int64), 18: .scalar(.int32), 19: .scalar(.int16),
        20: .scalar(.int8), 21: .scalar(.int4), 22: .scalar(.int2), 23: .scalar(.uint64), 24: .scalar(.uint32),
        25: .scalar(.uint16), 26: .scalar(.uint8), 27: .scalar(.uint4), 28: .scalar(.uint2), 29: .scalar(.uint1),
        32: .token, 33: .other("param.symbol"), 34: .other("param.type"), 36: .scalar(.uint6), 37: .scalar(.uint3),
        38: .other("tfloat32"), 46: .scalar(.float4e2m1fn), 47: .scalar(.float8e8m0fn),
    ]

    /// Codes of types that are read over: they occur in attributes only.
    private static let foreign: [UInt64: (name: String, fields: [StoredField])] = [
        1: ("opaque_type", [.string, .attributes]),
        35: ("param.ref", [.string, .type]),
        41: ("debuginfo.unresolved", [.type]),
        42: ("debuginfo.basic", [.number, .number, .string, .number]),
        43: ("debuginfo.derived", [.number, .string, .number, .number, .number, .type]),
        44: (
            "debuginfo.composite",
            [.number, .string, .attribute, .attribute, .number, .number, .number, .attributes]
        ),
        45: (
            "debuginfo.composite",
            [.number, .string, .attribute, .attribute, .number, .number, .type, .number, .attributes]
        ),
    ]

    /// The type at `cursor`, which holds one entry of the types and nothing else.
    init(_ cursor: inout Cursor, _ tables: FieldReader) throws(ReadError) {
        let start = cursor.position
        let code = try cursor.varint("a type code")
        if let type = Self.plain[code] {
            self = type
        } else if let (name, fields) = Self.foreign[code] {
            for field in fields { _ = try tables.read(field, &cursor) }
            self = .other(name)
        } else {
            self = try Self.compound(code, &cursor, tables, start)
        }
        try cursor.expectEnd(of: "a type with code \(code)")
    }

    private static func compound(
        _ code: UInt64, _ cursor: inout Cursor, _ tables: FieldReader, _ start: Int
    ) throws(ReadError) -> StoredType {
        switch code {
        case 2, 3:
            return .tensor(
                try tables.signedNumbers(&cursor), element: try tables.type(&cursor),
                encoding: code == 3 ? try tables.attribute(&cursor) : nil)
        case 30:
            return .function(results: try tables.types(&cursor), inputs: try tables.types(&cursor))
        case 31:
            return .handle(try tables.type(&cursor))
        case 39, 40:
            let type = StoredType.image(
                fourCC: try tables.attribute(&cursor), height: try cursor.size("an image height"),
                width: try cursor.size("an image width"))
            if code == 40 { _ = try tables.attribute(&cursor) }
            return type
        default:
            throw cursor.fault("expected a known type code (1 to 47), found \(code)", at: start)
        }
    }
}
