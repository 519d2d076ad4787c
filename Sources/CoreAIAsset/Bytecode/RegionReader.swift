import CoreAIGraph

/// Turns stored regions into graphs.
struct RegionReader {
    let decoder: Decoder
    /// The name of the graph that the path of an invoke's callee leads to.
    let resolve: ([String], ReadError) throws(ReadError) -> String

    static let nestingLimit = 64

    /// A region and the numbers of the outer values it uses, in the order of `graph.captures`.
    struct Region {
        var graph: Graph
        var captured: [Int]
    }

    /// Reads the region at `cursor`.
    ///
    /// - Parameter outerCount: how many values are in scope around the region; its own are numbered from there.
    func region(_ cursor: inout Cursor, name: String, outerCount: Int, depth: Int) throws(ReadError) -> Region {
        guard depth < Self.nestingLimit else {
            throw cursor.fault("expected regions nested at most \(Self.nestingLimit) deep, found more")
        }
        let start = cursor.position
        let blocks = try cursor.varint("blocks")
        guard blocks == 1 else { throw cursor.fault("expected a region of one block, found \(blocks)", at: start) }
        // Every result costs its operation a byte, every argument its own.
        let ownCount = try cursor.count("values")
        var builder = RegionBuilder(name: name, outerCount: outerCount, ownCount: ownCount, decoder: decoder)
        let (stored, hasArguments) = try cursor.flagged("operations")
        let opCount = try cursor.checkedCount(stored, "operations", minimumSize: 3)
        if hasArguments { try readArguments(&cursor, &builder) }
        for _ in 0..<opCount { try readOp(&cursor, &builder, depth: depth) }
        return try builder.finish(at: cursor)
    }

    /// Reads the region that fills the section `content`; its values are its own. The captures of regions inside it have no
    /// types yet: `Graph.completeCaptures` gives them theirs, once, when the whole graph is read.
    func isolated(_ content: inout Cursor, name: String, depth: Int) throws(ReadError) -> Graph {
        let graph = try region(&content, name: name, outerCount: 0, depth: depth).graph
        try content.expectEnd(of: "the region \(name)")
        return graph
    }

    private func readArguments(_ cursor: inout Cursor, _ builder: inout RegionBuilder) throws(ReadError) {
        let count = try cursor.count("arguments")
        for index in 0..<count {
            let start = cursor.position
            let (type, hasLocation) = try cursor.flagged("an argument's type")
            if hasLocation { _ = try decoder.fields.attribute(&cursor) }
            let checked = try cursor.checkedIndex(type, below: decoder.fields.typeCount, "a type", at: start)
            try decoder.container.budget.charge(64, at: cursor)
            let value: ValueID
            do { value = try builder.define(checked) } catch {
                throw error.within("argument \(index) of \(builder.graph.name)")
            }
            builder.graph.inputs.append(Port(String(index), value))
        }
        if try cursor.byte("use-list orders") != 0 { try Operation.skipUseOrders(of: count, &cursor) }
    }

    private func readOp(_ cursor: inout Cursor, _ builder: inout RegionBuilder, depth: Int) throws(ReadError) {
        let stored = try Operation(&cursor, names: decoder.container.opNames, decoder.fields)
        guard !builder.isTerminated else {
            throw cursor.fault(
                "expected \(builder.terminator) to end its region, found \(stored.name) after it", at: stored.offset)
        }
        var op = Op(stored.name)
        op.location = decoder.location(stored.location)
        do {
            try fill(&op, stored, &cursor, &builder, depth: depth)
        } catch {
            // The innermost op is the one to name; its regions' faults already do.
            guard !error.fault.hasPrefix("in ") else { throw error }
            throw error.within("in \(op.name)" + (op.location.map { " (\($0))" } ?? ""))
        }
    }

    private func fill(
        _ op: inout Op, _ stored: Operation, _ cursor: inout Cursor, _ builder: inout RegionBuilder, depth: Int
    ) throws(ReadError) {
        for number in stored.operands { op.operands.append(try builder.use(number, cursor, at: stored.offset)) }
        for type in stored.results { op.results.append(try builder.define(type)) }
        try readAttributes(of: stored, into: &op, resultTypes: op.results.map { builder.graph[$0].type }, cursor)
        for index in 0..<stored.regionCount {
            let name = "\(index)"
            if stored.isIsolated {
                var content = try Section.program(&cursor)
                op.regions.append(try isolated(&content, name: name, depth: depth + 1))
            } else {
                var region = try region(&cursor, name: name, outerCount: builder.totalCount, depth: depth + 1)
                for number in region.captured {
                    region.graph.captures.append(try builder.use(UInt64(number), cursor, at: stored.offset))
                }
                op.regions.append(region.graph)
            }
        }
        try builder.append(op, cursor, at: stored.offset)
    }

    private func readAttributes(
        of stored: Operation, into op: inout Op, resultTypes: [ValueType], _ cursor: Cursor
    ) throws(ReadError) {
        if let attributes = stored.attributes {
            guard case .dictionary(let entries) = try decoder.value(attributes) else {
                throw decoder.fault(
                    attribute: attributes, "expected a dictionary of attributes, found another attribute")
            }
            op.attributes = entries
        }
        guard let number = stored.properties else { return }
        let record = try PropertyRecord(
            decoder.container.properties.cursor(number, "a property record"), of: op.name,
            attributeCount: decoder.fields.attributeCount)
        for (field, index) in record.fields {
            switch field {
            case "arg_attrs", "res_attrs": continue
            case "value" where op.name.withoutVersion == "primitive.constant":
                guard resultTypes.count == 1 else {
                    throw cursor.fault("expected one result, found \(resultTypes.count)", at: stored.offset)
                }
                let constant = try decoder.constant(index, type: resultTypes[0])
                op.attributes.append(NamedAttribute(field, .elements(constant)))
            case "callee":
                guard case .symbol(let path) = try decoder.value(index) else {
                    throw decoder.fault(
                        attribute: index, "expected the path of a graph as the callee, found another attribute")
                }
                let fault = decoder.fault(
                    attribute: index,
                    "expected the callee to be a graph of this program, found \(path.joined(separator: "::"))")
                op.attributes.append(NamedAttribute(field, .symbol([try resolve(path, fault)])))
            default:
                let value: Attribute =
                    if let code = PropertyRecord.wordCodes[field] {
                        .word(try decoder.word(index, code: code))
                    } else {
                        try decoder.value(index)
                    }
                op.attributes.append(NamedAttribute(field, value))
            }
        }
    }
}

extension Section {
    /// The content of the nested program section at `cursor`.
    static func program(_ cursor: inout Cursor) throws(ReadError) -> Cursor {
        let start = cursor.position
        let section = try Section(&cursor)
        guard section.id == Sections.ID.program.rawValue else {
            throw cursor.fault("expected a nested section 4 holding a region, found section \(section.id)", at: start)
        }
        return section.content
    }
}
