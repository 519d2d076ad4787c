package import CoreAIGraph

/// What an asset's program holds, as stored.
package struct Program: Sendable {
    /// The newest version of the `aicode` dialect this reader knows.
    package static let newestVersion = 20_260_409

    package var version: Int
    package var producer: String
    /// In stored order. A graph `g` in a namespace `n` is called `n_g`; the callee of an invoke is such a name.
    ///
    /// The ops of each graph, and of the regions in it, are in an order in which each follows its operands; a region's
    /// inputs and outputs are named by their position.
    package var graphs: [Graph]

    /// Decodes MLIR bytecode. Weights are slices of `bytes`; none of their content is read.
    ///
    /// - Parameter file: the name that errors give the bytes.
    /// - Throws: `ReadError` for bytes that break the format or need a newer runtime.
    package init(bytecode bytes: Bytes, file: String) throws(ReadError) {
        let container = try Container(Source(file: file, bytes: bytes))
        let reader = ProgramReader(Decoder(container))
        producer = container.producer
        (version, graphs) = try reader.read()
    }
}

/// Reads the module: the asset operation, and the graphs in it.
private struct ProgramReader {
    let decoder: Decoder

    init(_ decoder: Decoder) { self.decoder = decoder }

    /// A graph whose body has not been read.
    private struct Declaration {
        var path: [String]
        var record: PropertyRecord
        var offset: Int
        var body: Cursor
        var name: String { path.joined(separator: "_") }
    }

    func read() throws(ReadError) -> (version: Int, graphs: [Graph]) {
        var cursor = decoder.container.program
        let (count, hasArguments) = try cursor.flagged("operations")
        guard count == 1, !hasArguments else {
            throw cursor.fault("expected one operation without arguments around the program, found \(count)")
        }
        let asset = try operation(&cursor)
        guard asset.name == "serialization.asset" else {
            throw cursor.fault("expected serialization.asset, found \(asset.name)", at: asset.offset)
        }
        let version = try readVersion(asset)
        guard var content = try body(of: asset, &cursor) else {
            throw cursor.fault("expected a region in serialization.asset, found none", at: asset.offset)
        }
        try cursor.expectEnd(of: "the program")
        var declarations: [Declaration] = []
        try readDeclarations(&content, path: [], into: &declarations)
        return (version, try readGraphs(declarations))
    }

    private func operation(_ cursor: inout Cursor) throws(ReadError) -> Operation {
        try Operation(&cursor, names: decoder.container.opNames, decoder.fields)
    }

    private func record(of operation: Operation) throws(ReadError) -> PropertyRecord {
        guard let number = operation.properties else {
            throw decoder.container.program.fault(
                "expected properties on \(operation.name), found none", at: operation.offset)
        }
        return try PropertyRecord(
            decoder.container.properties.cursor(number, "a property record"), of: operation.name,
            attributeCount: decoder.fields.attributeCount)
    }

    private func readVersion(_ asset: Operation) throws(ReadError) -> Int {
        guard let index = try record(of: asset).optional("version") else {
            throw decoder.container.program.fault(
                "expected a version of serialization.asset, found none", at: asset.offset)
        }
        guard case .integer(let version) = try decoder.value(index) else {
            throw decoder.fault(attribute: index, "expected an integer as the asset's version, found another attribute")
        }
        guard version <= Program.newestVersion else {
            var error = decoder.fault(
                attribute: index, "asset version \(version), this runtime reads up to \(Program.newestVersion)")
            error.code = .version("\(version)")
            throw error
        }
        return version
    }

    /// The content of an operation's only region, which must be isolated; nil if it has no region.
    private func body(of operation: Operation, _ cursor: inout Cursor) throws(ReadError) -> Cursor? {
        guard operation.regionCount > 0 else { return nil }
        guard operation.regionCount == 1, operation.isIsolated else {
            throw cursor.fault(
                "expected \(operation.name) with one isolated region, found \(operation.regionCount)",
                at: operation.offset)
        }
        return try Section.program(&cursor)
    }

    /// Lists the graphs in a region of an asset or a namespace, without reading their bodies.
    private func readDeclarations(
        _ cursor: inout Cursor, path: [String], into declarations: inout [Declaration]
    ) throws(ReadError) {
        guard path.count < RegionReader.nestingLimit else {
            throw cursor.fault("expected namespaces nested at most \(RegionReader.nestingLimit) deep, found more")
        }
        let blocks = try cursor.varint("blocks")
        guard blocks <= 1 else { throw cursor.fault("expected one block of graphs, found \(blocks)") }
        guard blocks == 1 else { return }
        _ = try cursor.varint("values")
        let (stored, hasArguments) = try cursor.flagged("graphs")
        guard !hasArguments else { throw cursor.fault("expected a list of graphs without arguments, found arguments") }
        for _ in 0..<(try cursor.checkedCount(stored, "graphs", minimumSize: 3)) {
            let operation = try operation(&cursor)
            guard var content = try body(of: operation, &cursor) else {
                throw cursor.fault("expected a region in \(operation.name), found none", at: operation.offset)
            }
            let record = try record(of: operation)
            let name = try text(record.required("name"), "a name")
            switch operation.name.withoutVersion {
            case "dataflow.graph":
                declarations.append(
                    Declaration(path: path + [name], record: record, offset: operation.offset, body: content))
            case "dataflow.namespace":
                try readDeclarations(&content, path: path + [name], into: &declarations)
            default:
                throw cursor.fault(
                    "expected a graph or a namespace, found \(operation.name)", at: operation.offset)
            }
        }
        try cursor.expectEnd(of: "a list of graphs")
    }

    private func readGraphs(_ declarations: [Declaration]) throws(ReadError) -> [Graph] {
        var names: [[String]: String] = [:]
        var seen: Set<String> = []
        for declaration in declarations {
            guard seen.insert(declaration.name).inserted else {
                throw decoder.container.program.fault(
                    "expected graphs of different names, found \(declaration.name) twice", at: declaration.offset)
            }
            names[declaration.path] = declaration.name
        }
        var graphs: [Graph] = []
        for declaration in declarations {
            // A path starts at the innermost namespace in which it leads to a graph.
            let scope = declaration.path.dropLast()
            let reader = RegionReader(decoder: decoder) { path, fault throws(ReadError) in
                for count in stride(from: scope.count, through: 0, by: -1) {
                    if let name = names[scope.prefix(count) + path] { return name }
                }
                throw fault
            }
            do { graphs.append(try graph(declaration, reader)) } catch {
                throw error.within("graph \(declaration.name)")
            }
        }
        return graphs
    }

    private func graph(_ declaration: Declaration, _ reader: RegionReader) throws(ReadError) -> Graph {
        var body = declaration.body
        var graph = try reader.isolated(&body, name: declaration.name, depth: 0)
        graph.completeCaptures()
        let record = declaration.record
        graph.isPrivate = try flag(record, "isPrivate")
        graph.noInline = try flag(record, "noInline")
        graph.composite = try record.optional("compositeDecl").map(composite)
        let inputNames = try portNames(record, "argAttrs", count: graph.inputs.count)
        for (index, name) in inputNames.enumerated() { graph.inputs[index].name = name ?? "arg\(index)" }
        let outputNames = try portNames(record, "resAttrs", count: graph.outputs.count)
        for (index, name) in outputNames.enumerated() { graph.outputs[index].name = name ?? "result\(index)" }
        return graph
    }

    private func text(_ index: Int, _ what: String) throws(ReadError) -> String {
        guard case .string(let text) = try decoder.value(index) else {
            throw decoder.fault(attribute: index, "expected a string as \(what), found another attribute")
        }
        return text
    }

    private func flag(_ record: PropertyRecord, _ field: String) throws(ReadError) -> Bool {
        let index = try record.required(field)
        guard case .bool(let flag) = try decoder.value(index) else {
            throw decoder.fault(attribute: index, "expected a flag as \(field), found another attribute")
        }
        return flag
    }

    /// The `aicode.name` of each argument or result; the list is empty when none has one.
    private func portNames(_ record: PropertyRecord, _ field: String, count: Int) throws(ReadError) -> [String?] {
        let index = try record.required(field)
        guard case .record(5, let values) = try decoder.storedAttribute(index),
            case .attributes(let entries)? = values.first
        else { throw decoder.fault(attribute: index, "expected an array as \(field), found another attribute") }
        if entries.isEmpty { return Array(repeating: nil, count: count) }
        guard entries.count == count else {
            throw decoder.fault(attribute: index, "expected \(count) entries in \(field), found \(entries.count)")
        }
        var names: [String?] = []
        for entry in entries { names.append(try portName(entry)) }
        return names
    }

    private func portName(_ index: Int) throws(ReadError) -> String? {
        guard case .record(5, let values) = try decoder.storedAttribute(index),
            case .attributes(let entries)? = values.first
        else { throw decoder.fault(attribute: index, "expected an array of named values, found another attribute") }
        for entry in entries {
            guard case .record(9, let parts) = try decoder.storedAttribute(entry), parts.count == 2,
                case .string("aicode.name") = parts[0], case .attributes(let parameters) = parts[1]
            else { continue }
            guard let name = parameters.first else { return nil }
            return try text(name, "the name of a value")
        }
        return nil
    }

    private func composite(_ index: Int) throws(ReadError) -> CompositeDeclaration {
        guard case .record(9, let parts) = try decoder.storedAttribute(index), parts.count == 2,
            case .string(let name) = parts[0], case .attributes(let entries) = parts[1]
        else {
            throw decoder.fault(
                attribute: index, "expected a named value as a composite declaration, found another attribute")
        }
        var attributes: [NamedAttribute] = []
        for entry in entries {
            guard case .dictionary(let named) = try decoder.value(entry) else {
                throw decoder.fault(
                    attribute: entry, "expected a named value in a composite declaration, found another attribute")
            }
            attributes += named
        }
        return CompositeDeclaration(name, attributes: attributes)
    }
}
