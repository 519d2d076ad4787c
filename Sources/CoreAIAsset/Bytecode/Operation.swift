/// One operation of the IR up to its regions, as stored.
struct Operation {
    let name: String
    /// The file offset of its first byte.
    let offset: Int
    let location: Int
    let attributes: Int?
    let properties: Int?
    let results: [Int]
    let operands: [UInt64]
    let regionCount: Int
    /// Whether each region is a section with values of its own, or shares the values around it.
    let isIsolated: Bool

    private struct Mask: OptionSet {
        let rawValue: UInt8
        static let attributes = Mask(rawValue: 0x01)
        static let results = Mask(rawValue: 0x02)
        static let operands = Mask(rawValue: 0x04)
        static let successors = Mask(rawValue: 0x08)
        static let regions = Mask(rawValue: 0x10)
        static let useOrders = Mask(rawValue: 0x20)
        static let properties = Mask(rawValue: 0x40)
        static let known: Mask = [.attributes, .results, .operands, .successors, .regions, .useOrders, .properties]
    }

    /// Reads the operation at `cursor` and leaves `cursor` at the first of its regions.
    init(_ cursor: inout Cursor, names: [String], _ fields: FieldReader) throws(ReadError) {
        offset = cursor.position
        name = names[try cursor.index(below: names.count, "an operation name")]
        let mask = Mask(rawValue: try cursor.byte("what an operation has"))
        guard mask.isSubset(of: .known) else {
            throw cursor.fault(
                "expected an operation mask within 7f, found \(mask.rawValue.hex)", at: cursor.position - 1)
        }
        location = try fields.attribute(&cursor)
        attributes = mask.contains(.attributes) ? try fields.attribute(&cursor) : nil
        properties = mask.contains(.properties) ? try cursor.size("the number of a property record") : nil
        results = mask.contains(.results) ? try fields.types(&cursor) : []
        operands =
            mask.contains(.operands)
            ? try fields.list(&cursor) { cursor throws(ReadError) in try cursor.varint("an operand") } : []
        guard !mask.contains(.successors) else {
            throw cursor.fault("expected \(name) without successor blocks, found some", at: offset)
        }
        if mask.contains(.useOrders) { try Self.skipUseOrders(of: results.count, &cursor) }
        if mask.contains(.regions) {
            let (count, flag) = try cursor.flagged("regions")
            regionCount = try cursor.checkedCount(count, "regions")
            isIsolated = flag
        } else {
            regionCount = 0
            isIsolated = false
        }
        try fields.budget.charge(320 + 16 * results.count + 16 * operands.count, at: cursor)
    }

    /// Use-list orders only steer the order in which a compiler visits uses.
    static func skipUseOrders(of valueCount: Int, _ cursor: inout Cursor) throws(ReadError) {
        let count = valueCount == 1 ? 1 : try cursor.count("use-list orders")
        for _ in 0..<count {
            if valueCount != 1 { _ = try cursor.varint("a value") }
            let (length, _) = try cursor.flagged("a use-list order")
            for _ in 0..<(try cursor.checkedCount(length, "uses")) { _ = try cursor.varint("a use") }
        }
    }
}
