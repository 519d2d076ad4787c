import CoreAIGraph

/// What a field of a type, an attribute or a property record holds.
enum StoredField {
    case string, strings, attribute, attributes, type, types, number, signedNumber, numbers, signedNumbers, byte
}

enum FieldValue {
    case string(String)
    case strings([String])
    case attribute(Int)
    case attributes([Int])
    case type(Int)
    case types([Int])
    case number(UInt64)
    case signedNumber(Int)
    case numbers([UInt64])
    case signedNumbers([Int])
}

/// An attribute as stored: one level, with the attributes it refers to by number.
enum StoredAttribute {
    case integer(width: UInt64, isUnsigned: Bool, pattern: UInt64)
    case float(width: UInt64, pattern: UInt64)
    case dense(isSplat: Bool, Bytes)
    case sparse(scheme: Int, positionWidth: Int, coordinateWidth: Int, storedCount: Int?, blockSize: [Int])
    /// Everything else: the code, and the fields in the order of `records`.
    case record(UInt64, [FieldValue])
}

extension StoredAttribute {
    struct Record {
        var name: String
        var fields: [(name: String, kind: StoredField)]
        /// For an attribute that is one of a list of words.
        var words: [String] = []

        init(_ name: String, _ fields: KeyValuePairs<String, StoredField> = [:], words: [String] = []) {
            self.name = name
            self.fields = fields.map { ($0.key, $0.value) } + (words.isEmpty ? [] : [("word", .number)])
            self.words = words
        }
    }

    /// The layout of every attribute whose fields always have the same kinds.
    static let records: [UInt64: Record] = [
        1: Record("string", ["text": .string]),
        4: Record("type", ["type": .type]),
        5: Record("array", ["elements": .attributes]),
        7: Record("dense resource", ["resource": .number]),
        9: Record("opaque", ["name": .string, "parameters": .attributes]),
        10: Record("param.decl", ["name": .string, "type": .type]),
        11: Record("param.decl", ["name": .string, "type": .type, "default": .attribute]),
        12: Record(
            "hardware constraints",
            ["alignments": .signedNumbers, "interleave": .signedNumbers, "backing": .number]),
        13: Record(
            "hardware constraints",
            ["alignments": .signedNumbers, "interleave": .signedNumbers, "backing": .number, "base": .attribute]),
        14: Record("symbol_ref", ["path": .strings]),
        16: Record("param.constant", ["value": .attribute, "type": .type]),
        17: Record("padding_mode", words: ["circular", "constant", "reflect", "replicate", "symmetric"]),
        18: Record("execution.lifecycle_phase", ["bits": .number]),
        19: Record("approximate", words: ["none", "tanh", "sigmoid"]),
        20: Record("scatter_mode", words: ["update", "add", "sub", "mul", "div", "max", "min"]),
        25: Record("scan_combiner", words: ["sum", "product", "min", "max"]),
        26: Record("image constraints", ["backing": .number, "row_alignments": .signedNumbers]),
        27: Record("fourcc", ["code": .number]),
        28: Record("execution.compilation", words: ["full", "partial", "finalized"]),
        29: Record("execution.target_spec", ["triple": .attribute, "soc": .attribute, "options": .attribute]),
        30: Record("debuginfo.file", ["name": .string, "directory": .string, "sha256": .string]),
        31: Record(
            "debuginfo.source_location",
            ["file": .attribute, "line": .number, "column": .number, "end_line": .number, "end_column": .number]),
        32: Record(
            "debuginfo.compile_unit",
            [
                "language": .string, "file": .attribute, "producer": .string, "optimized": .number, "flags": .string,
                "files": .attributes,
            ]),
        33: Record("debuginfo.metadata_data", ["value": .attribute]),
        35: Record("debuginfo.metadata", ["name": .string, "data": .attribute]),
        36: Record(
            "debuginfo.subprogram",
            [
                "type": .type, "unit": .attribute, "file": .attribute, "name": .string, "linkage_name": .string,
                "flags": .number,
            ]),
        37: Record(
            "debuginfo.local_variable",
            [
                "type": .type, "name": .string, "location": .attribute, "scope": .attribute, "align": .number,
                "flags": .number,
            ]),
        38: Record(
            "debuginfo.bounds",
            ["count": .signedNumber, "lower": .signedNumber, "upper": .signedNumber, "stride": .signedNumber]),
        39: Record("debuginfo.composite_element", ["element": .attribute]),
        40: Record(
            "debuginfo.location",
            ["source": .attribute, "scope": .attribute, "fused": .attributes, "metadata": .attributes]),
        41: Record(
            "debuginfo.location",
            [
                "source": .attribute, "scope": .attribute, "inlined_at": .attribute, "fused": .attributes,
                "metadata": .attributes,
            ]),
        42: Record("debuginfo.metadata_location", ["metadata": .attributes]),
        43: Record("interpolation_mode", words: ["linear", "nearest_neighbor"]),
        44: Record("execution.intent", words: ["out", "inout", "return", "in", "param", "metadata"]),
        45: Record("dictionary", ["entries": .attributes]),
        46: Record("unit"),
        47: Record("opaque_loc", ["location": .attribute]),
    ]

    /// The attribute at `cursor`, which holds one entry of the attributes and nothing else.
    init(_ cursor: inout Cursor, _ tables: FieldReader) throws(ReadError) {
        let start = cursor.position
        let code = try cursor.varint("an attribute code")
        if let record = Self.records[code] {
            var values: [FieldValue] = []
            for field in record.fields { values.append(try tables.read(field.kind, &cursor)) }
            self = .record(code, values)
        } else {
            self = try Self.special(code, &cursor, start)
        }
        try cursor.expectEnd(of: "an attribute with code \(code)")
    }

    private static func special(
        _ code: UInt64, _ cursor: inout Cursor, _ start: Int
    ) throws(ReadError) -> StoredAttribute {
        switch code {
        case 2:
            let width = try cursor.varint("an integer's width")
            let isUnsigned = try cursor.byte("an integer's sign") != 0
            return .integer(width: width, isUnsigned: isUnsigned, pattern: try bits(width, &cursor))
        case 3:
            let width = try cursor.varint("a float's width")
            return .float(width: width, pattern: try bits(width, &cursor))
        case 6:
            let isSplat = try cursor.byte("whether elements are a splat") != 0
            let count = try cursor.count("bytes of elements")
            return .dense(isSplat: isSplat, try cursor.bytes(count, "elements"))
        case 21, 23:
            let scheme = try cursor.size("a sparse scheme")
            let positionWidth = try cursor.size("a position width")
            let coordinateWidth = try cursor.size("a coordinate width")
            let hasCount = try cursor.byte("whether a sparse type has a count") != 0
            let storedCount = hasCount ? try cursor.size("a count of stored elements") : nil
            var blockSize: [Int] = []
            if code == 23 {
                for _ in 0..<(try cursor.count("block sizes")) { blockSize.append(try cursor.size("a block size")) }
            }
            return .sparse(
                scheme: scheme, positionWidth: positionWidth, coordinateWidth: coordinateWidth,
                storedCount: storedCount, blockSize: blockSize)
        default:
            throw cursor.fault("expected a known attribute code (1 to 47), found \(code)", at: start)
        }
    }

    /// The low `width` bits of an arbitrary-precision integer; above 64 bits the higher words must be empty.
    private static func bits(_ width: UInt64, _ cursor: inout Cursor) throws(ReadError) -> UInt64 {
        let start = cursor.position
        guard width > 0 else { throw cursor.fault("expected a width of at least 1 bit, found 0") }
        if width <= 8 { return UInt64(try cursor.byte("an integer")) & ((1 << width) - 1) }
        if width <= 64 {
            let pattern = UInt64(bitPattern: Int64(try cursor.signedVarint("an integer")))
            return width == 64 ? pattern : pattern & ((1 << width) - 1)
        }
        var low: UInt64 = 0
        for index in 0..<(try cursor.count("words of an integer")) {
            let word = UInt64(bitPattern: Int64(try cursor.signedVarint("a word of an integer")))
            if index == 0 {
                low = word
            } else if word != 0 {
                throw cursor.fault("expected an integer of at most 64 bits, found one of \(width) bits", at: start)
            }
        }
        return low
    }
}

/// Reads fields, checking every reference against the tables of its file.
struct FieldReader {
    let strings: StringTable
    let attributeCount: Int
    let typeCount: Int
    let budget: Budget

    func read(_ field: StoredField, _ cursor: inout Cursor) throws(ReadError) -> FieldValue {
        switch field {
        case .string: .string(try string(&cursor))
        case .strings: .strings(try list(&cursor, string))
        case .attribute: .attribute(try attribute(&cursor))
        case .attributes: .attributes(try list(&cursor, attribute))
        case .type: .type(try type(&cursor))
        case .types: .types(try types(&cursor))
        case .number: .number(try cursor.varint())
        case .signedNumber: .signedNumber(try cursor.signedVarint())
        case .numbers: .numbers(try list(&cursor) { cursor throws(ReadError) in try cursor.varint() })
        case .signedNumbers: .signedNumbers(try signedNumbers(&cursor))
        case .byte: .number(UInt64(try cursor.byte()))
        }
    }

    func string(_ cursor: inout Cursor) throws(ReadError) -> String {
        try strings[cursor.index(below: strings.count, "a string")]
    }
    func attribute(_ cursor: inout Cursor) throws(ReadError) -> Int {
        try cursor.index(below: attributeCount, "an attribute")
    }
    func type(_ cursor: inout Cursor) throws(ReadError) -> Int {
        try cursor.index(below: typeCount, "a type")
    }
    func types(_ cursor: inout Cursor) throws(ReadError) -> [Int] { try list(&cursor, type) }
    func signedNumbers(_ cursor: inout Cursor) throws(ReadError) -> [Int] {
        try list(&cursor) { cursor throws(ReadError) in try cursor.signedVarint() }
    }

    func list<Element>(
        _ cursor: inout Cursor, _ element: (inout Cursor) throws(ReadError) -> Element
    ) throws(ReadError) -> [Element] {
        let count = try cursor.count("list elements")
        try budget.charge(32 + MemoryLayout<Element>.stride * count, at: cursor)
        var elements: [Element] = []
        elements.reserveCapacity(count)
        for _ in 0..<count { elements.append(try element(&cursor)) }
        return elements
    }
}
