import CoreAIGraph

/// The outer layer of MLIR bytecode: sections, strings, names, and where every attribute, type, resource and property
/// record lies. Nothing behind these offsets is decoded here.
struct Container {
    static let bytecodeVersion: UInt64 = 6

    let producer: String
    /// Names of operations by number, without their dialect: `primitive.add_v1`.
    let opNames: [String]
    let attributes: Entries
    let types: Entries
    let properties: Entries
    let resources: [Resource]
    /// The block of the implicit module.
    let program: Cursor
    let strings: StringTable
    let budget: Budget

    struct Resource {
        var content: Cursor
        var kind: UInt8
    }

    /// Consecutive pieces of the file, by number.
    struct Entries {
        fileprivate var whole: Cursor
        /// The file offset at which each piece starts, and the end of the last.
        fileprivate var bounds: [Int]

        var count: Int { bounds.count - 1 }

        func cursor(_ index: Int, _ what: String) throws(ReadError) -> Cursor {
            guard index >= 0, index < count else {
                throw whole.fault("expected the number of \(what) below \(count), found \(index)")
            }
            var start = whole
            _ = try start.part(bounds[index] - whole.position, what)
            return try start.part(bounds[index + 1] - bounds[index], "\(what) \(index)")
        }
    }

    init(_ source: Source) throws(ReadError) {
        var cursor = Cursor(source)
        let budget = Budget()
        producer = try Self.readHeader(&cursor)
        let sections = try Sections(&cursor)
        strings = try StringTable(sections.required(.strings), budget)
        opNames = try Self.readNames(sections.required(.dialects), strings, budget)
        (attributes, types) = try Self.readOffsets(
            sections.required(.offsets), data: sections.required(.data), budget)
        properties = try Self.readProperties(sections.optional(.properties) ?? cursor, budget)
        resources = try Self.readResources(
            sections.optional(.resourceOffsets) ?? cursor, data: sections.optional(.resources) ?? cursor,
            strings, budget)
        program = try sections.required(.program)
        self.budget = budget
    }

    private static func readHeader(_ cursor: inout Cursor) throws(ReadError) -> String {
        var magic: [UInt8] = []
        for _ in 0..<4 { magic.append(try cursor.byte("the magic number")) }
        guard magic == [0x4d, 0x4c, 0xef, 0x52] else {
            throw cursor.fault(
                "expected MLIR bytecode (4d 4c ef 52), found \(magic.map(\.hex).joined(separator: " "))", at: 0)
        }
        let version = try cursor.varint("the bytecode version")
        guard version == bytecodeVersion else {
            var error = cursor.fault(
                "bytecode version \(version), this runtime reads version \(bytecodeVersion)", at: 4)
            error.code = .version("bytecode \(version)")
            throw error
        }
        var rest = cursor
        while try rest.byte("the end of the producer") != 0 {}
        let producer = try cursor.text(rest.position - cursor.position - 1, "the producer")
        cursor = rest
        return producer
    }

    private static func readNames(
        _ section: Cursor, _ strings: StringTable, _ budget: Budget
    ) throws(ReadError) -> [String] {
        var cursor = section
        let dialectCount = try cursor.count("dialects")
        var dialects: [String] = []
        for _ in 0..<dialectCount {
            let (name, hasVersion) = try cursor.flagged("a dialect")
            dialects.append(try strings[cursor.checkedIndex(name, below: strings.count, "a string")])
            if hasVersion { _ = try Section(&cursor) }
        }
        let total = try cursor.count("operation names")
        try budget.charge(48, dialectCount, at: cursor)
        var names: [String] = []
        while !cursor.isAtEnd {
            let dialect = try cursor.index(below: dialectCount, "a dialect")
            let prefix = dialects[dialect] == "aicode" ? "" : dialects[dialect] + "."
            for _ in 0..<(try cursor.count("operation names")) {
                let (index, _) = try cursor.flagged("an operation name")
                let name = try strings[cursor.checkedIndex(index, below: strings.count, "a string")]
                try budget.charge(48 + prefix.utf8.count + name.utf8.count, at: cursor)
                names.append(prefix.isEmpty ? name : prefix + name)
            }
        }
        guard names.count == total else {
            throw cursor.fault("expected \(total) operation names, found \(names.count)")
        }
        return names
    }

    private static func readOffsets(
        _ section: Cursor, data: Cursor, _ budget: Budget
    ) throws(ReadError) -> (attributes: Entries, types: Entries) {
        var cursor = section
        let attributeCount = try cursor.count("attributes")
        let typeCount = try cursor.count("types")
        try budget.charge(32, attributeCount + typeCount, at: cursor)
        var bounds = [data.position]
        bounds.reserveCapacity(attributeCount + typeCount + 1)
        var rest = data
        while !cursor.isAtEnd {
            _ = try cursor.varint("a dialect")
            for _ in 0..<(try cursor.count("attributes or types")) {
                let start = cursor.position
                let (size, isCustom) = try cursor.flagged("a size")
                guard isCustom else {
                    throw cursor.fault("expected an attribute or type in binary form, found assembly text", at: start)
                }
                guard bounds.count <= attributeCount + typeCount else {
                    throw cursor.fault(
                        "expected \(attributeCount + typeCount) attributes and types, found more", at: start)
                }
                _ = try rest.part(rest.checkedCount(size, "bytes"), "attribute or type data")
                bounds.append(rest.position)
            }
        }
        guard bounds.count - 1 == attributeCount + typeCount else {
            throw cursor.fault(
                "expected \(attributeCount) attributes and \(typeCount) types, found \(bounds.count - 1) in all")
        }
        return (
            Entries(whole: data, bounds: Array(bounds[...attributeCount])),
            Entries(whole: data, bounds: Array(bounds[attributeCount...]))
        )
    }

    private static func readProperties(_ section: Cursor, _ budget: Budget) throws(ReadError) -> Entries {
        guard !section.isAtEnd else { return Entries(whole: section, bounds: [section.position]) }
        var cursor = section
        let count = try cursor.count("property records")
        try budget.charge(8, count, at: cursor)
        var bounds = [cursor.position]
        let whole = cursor
        for index in 0..<count {
            // A record's bounds include its size, which `PropertyRecord` reads over.
            let size = try cursor.count("bytes of property record \(index)")
            _ = try cursor.part(size, "property record \(index)")
            bounds.append(cursor.position)
        }
        return Entries(whole: whole, bounds: bounds)
    }

    private static func readResources(
        _ section: Cursor, data: Cursor, _ strings: StringTable, _ budget: Budget
    ) throws(ReadError) -> [Resource] {
        guard !section.isAtEnd else { return [] }
        var cursor = section
        var rest = data
        func entry(_ cursor: inout Cursor) throws(ReadError) -> Resource {
            _ = try cursor.index(below: strings.count, "a string")
            let size = try cursor.size("the size of a resource")
            let kind = try cursor.byte("the kind of a resource")
            return Resource(content: try rest.part(size, "a resource"), kind: kind)
        }
        for _ in 0..<(try cursor.count("external resource groups")) {
            _ = try cursor.index(below: strings.count, "a string")
            for _ in 0..<(try cursor.count("resources", minimumSize: 3)) { _ = try entry(&cursor) }
        }
        var resources: [Resource] = []
        while !cursor.isAtEnd {
            _ = try cursor.varint("a dialect")
            let count = try cursor.count("resources", minimumSize: 3)
            try budget.charge(128, count, at: cursor)
            for _ in 0..<count { resources.append(try entry(&cursor)) }
        }
        return resources
    }

    /// The bytes of a blob, not touched beyond its header.
    func blob(_ index: Int) throws(ReadError) -> Bytes {
        guard resources.indices.contains(index) else {
            throw program.fault("expected the number of a resource below \(resources.count), found \(index)")
        }
        var cursor = resources[index].content
        guard resources[index].kind == 0 else {
            throw cursor.fault("expected resource \(index) to be a blob (kind 0), found kind \(resources[index].kind)")
        }
        let alignment = try cursor.varint("the alignment of resource \(index)")
        let count = try cursor.size("the byte count of resource \(index)")
        try cursor.align(to: alignment, "resource \(index)")
        return try cursor.bytes(count, "resource \(index)")
    }
}

extension UInt8 {
    var hex: String { (self < 16 ? "0" : "") + String(self, radix: 16) }
}
