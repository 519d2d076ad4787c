import CoreAIAsset
import CoreAIGraph

/// Writes small programs byte by byte.
struct BytecodeWriter {
    var strings: [String] = ["aicode"]
    var opNames: [String] = []
    var attributes: [[UInt8]] = []
    var types: [[UInt8]] = []
    var properties: [[UInt8]] = []
    var blobs: [[UInt8]] = []
    var bytecodeVersion = 6

    static func varint(_ value: Int) -> [UInt8] {
        if (0..<128).contains(value) { return [UInt8(value) << 1 | 1] }
        return [0] + withUnsafeBytes(of: UInt64(bitPattern: Int64(value)).littleEndian, Array.init)
    }
    static func signed(_ value: Int) -> [UInt8] { varint((value << 1) ^ (value >> 63)) }
    static func list(_ values: [Int]) -> [UInt8] { varint(values.count) + values.flatMap(varint) }
    static func section(_ id: UInt8, _ content: [UInt8]) -> [UInt8] { [id] + varint(content.count) + content }

    mutating func string(_ text: String) -> Int {
        strings.append(text)
        return strings.count - 1
    }
    mutating func op(_ name: String) -> Int {
        opNames.append(name)
        return opNames.count - 1
    }
    mutating func attribute(_ bytes: [UInt8]) -> Int {
        attributes.append(bytes)
        return attributes.count - 1
    }
    mutating func type(_ bytes: [UInt8]) -> Int {
        types.append(bytes)
        return types.count - 1
    }
    mutating func property(_ bytes: [UInt8]) -> Int {
        properties.append(bytes)
        return properties.count - 1
    }
    mutating func text(_ text: String) -> Int { attribute(Self.varint(1) + Self.varint(string(text))) }

    /// A whole file around the given program block.
    mutating func file(_ block: [UInt8]) -> [UInt8] {
        let names = opNames.map { string($0) }
        let key = string("blob")
        let v = Self.varint
        var file: [UInt8] = [0x4d, 0x4c, 0xef, 0x52] + v(bytecodeVersion) + Array("test".utf8) + [0]
        file += Self.section(1, v(1) + v(0) + v(names.count) + v(0) + v(names.count) + names.flatMap { v($0 << 1 | 1) })
        file += Self.section(2, attributes.flatMap { $0 } + types.flatMap { $0 })
        let sizes = { (entries: [[UInt8]]) in v(0) + v(entries.count) + entries.flatMap { v($0.count << 1 | 1) } }
        file += Self.section(3, v(attributes.count) + v(types.count) + sizes(attributes) + sizes(types))
        file += Self.section(4, block)
        let pieces = blobs.map { v(1) + v($0.count) + $0 }
        file += Self.section(5, pieces.flatMap { $0 })
        file += Self.section(
            6, v(0) + (blobs.isEmpty ? [] : v(0) + v(blobs.count) + pieces.flatMap { v(key) + v($0.count) + [0] }))
        file += Self.section(8, v(properties.count) + properties.flatMap { v($0.count) + $0 })
        let texts = strings.map { Array($0.utf8) + [0] }
        file += Self.section(0, v(texts.count) + texts.reversed().flatMap { v($0.count) } + texts.flatMap { $0 })
        return file
    }
}

/// A program of one graph, `main`.
struct OneGraph {
    var writer = BytecodeWriter()
    let location: Int
    let no: Int
    let empty: Int
    var version = 20_250_707

    init() {
        location = writer.attribute(BytecodeWriter.varint(46))
        no = writer.attribute([5, 3, 1, 0])
        empty = writer.attribute(BytecodeWriter.varint(5) + BytecodeWriter.varint(0))
    }

    /// An operation with results of the given types, and regions that are already bytes.
    func op(
        _ name: Int, results: [Int] = [], operands: [Int] = [], property: Int? = nil, regions: [[UInt8]] = [],
        isolated: Bool = false
    )
        -> [UInt8]
    {
        let v = BytecodeWriter.varint
        let mask: UInt8 =
            (results.isEmpty ? 0 : 2) | (operands.isEmpty ? 0 : 4) | (regions.isEmpty ? 0 : 0x10)
            | (property == nil ? 0 : 0x40)
        var bytes = v(name) + [mask] + v(location)
        if let property { bytes += v(property) }
        if !results.isEmpty { bytes += BytecodeWriter.list(results) }
        if !operands.isEmpty { bytes += BytecodeWriter.list(operands) }
        if !regions.isEmpty {
            bytes += v(regions.count << 1 | (isolated ? 1 : 0))
            bytes += regions.flatMap { isolated ? BytecodeWriter.section(4, $0) : $0 }
        }
        return bytes
    }

    func region(arguments: [Int] = [], values: Int, _ ops: [[UInt8]]) -> [UInt8] {
        let v = BytecodeWriter.varint
        var bytes = v(1) + v(values) + v(ops.count << 1 | (arguments.isEmpty ? 0 : 1))
        if !arguments.isEmpty { bytes += v(arguments.count) + arguments.flatMap { v($0 << 1) } + [0] }
        return bytes + ops.flatMap { $0 }
    }

    /// The file, around the body of `main`.
    mutating func file(_ body: [UInt8], composite: Int? = nil, namespace: String? = nil) -> [UInt8] {
        let v = BytecodeWriter.varint
        let name = writer.text("main")
        let function = writer.type(v(30) + v(0) + v(0))
        let functionType = writer.attribute(v(4) + v(function))
        let version = writer.attribute(v(2) + v(32) + [1] + BytecodeWriter.signed(version))
        let asset = writer.op("serialization.asset")
        let graph = writer.op("dataflow.graph_v1")
        let assetRecord = writer.property(v(0) + v(version << 1 | 1))
        let graphRecord = writer.property(
            v(empty) + v(composite.map { $0 << 1 | 1 } ?? 0) + v(no) + v(functionType) + v(no) + v(name) + v(no)
                + v(empty) + v(empty))
        var graphs = v(1) + v(0) + v(1 << 1) + op(graph, property: graphRecord, regions: [body], isolated: true)
        if let namespace {
            let name = writer.op("dataflow.namespace_v1")
            let record = writer.property(v(writer.text(namespace)) + v(empty))
            graphs = v(1) + v(0) + v(1 << 1) + op(name, property: record, regions: [graphs], isolated: true)
        }
        let block = v(1 << 1) + op(asset, property: assetRecord, regions: [graphs], isolated: true)
        return writer.file(block)
    }
}

func read(_ bytes: [UInt8]) throws -> Program { try Program(bytecode: Bytes(copying: bytes), file: "test.mlirb") }

/// The fault that reading `bytes` ends with.
func fault(_ bytes: [UInt8]) -> String? {
    do {
        _ = try read(bytes)
        return nil
    } catch { return "\(error)" }
}

/// The parts, one after the other.
func cat(_ parts: [UInt8]...) -> [UInt8] { parts.flatMap { $0 } }
