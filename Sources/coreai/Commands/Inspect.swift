import CoreAI
import CoreAIAsset
import CoreAIGraph
import Foundation

func inspectCommand(_ arguments: Arguments) async throws {
    let url = URL(fileURLWithPath: arguments.model)
    let asset = try AIModelAsset(contentsOf: url)
    let metadata = asset.metadata
    let program = try await showingProgress("reading \(arguments.model)") { try LoadedAsset(contentsOf: url).program() }
    let summary = program.map { AIModelAsset.Summary($0, includingStatistics: true) }
    let graphs = arguments.flag(.graph) ? program?.graphs ?? [] : []
    if arguments.flag(.json) {
        print(try jsonText(AssetReport(arguments.model, metadata, program, summary, files(in: url), graphs)))
        return
    }
    var about = TextTable()
    about.add("model", arguments.model)
    if let program { about.add("made by", "\(asset.producer ?? program.producer), program version \(program.version)") }
    for (name, value) in entries(of: metadata) { about.add(name, value) }
    var text = about.text()
    if let summary {
        for function in summary.functions { text += "\nFunction \(function.name)\n" + describe(function) }
        text += describeStatistics(summary)
    } else {
        text += "\nThe asset holds no program, only compiled artifacts.\n"
    }
    var sizes = TextTable(.left, .right)
    for file in files(in: url) { sizes.add(file.name, file.byteCount.byteSize) }
    text += "\nFiles\n" + sizes.text(indent: 2)
    for graph in graphs { text += "\n" + graph.text(constantLimit: 64) }
    print(text, terminator: "")
}

private func describe(_ function: AIModelAsset.FunctionDescriptor) -> String {
    var table = TextTable()
    for (kind, values) in [("input", function.inputs), ("state", function.states), ("output", function.outputs)] {
        for value in values { table.add(kind, value.name, value.typeName) }
    }
    return table.text(indent: 2)
}

private func describeStatistics(_ summary: AIModelAsset.Summary) -> String {
    var text = ""
    let total = summary.operationDistribution.reduce(0) { $0 + $1.count }
    if total > 0 {
        let table = TextTable(
            folding: summary.operationDistribution.map { (count: $0.count.grouped, name: $0.operationName) })
        text += "\n\(counted(total, "operation"))\n" + table.text(indent: 2)
    }
    if !summary.storageTypes.isEmpty {
        var table = TextTable(.right)
        for entry in summary.storageTypes { table.add(entry.count.grouped, entry.typeName) }
        text += "\nStored scalars\n" + table.text(indent: 2)
    }
    if !summary.computeTypes.isEmpty { text += "\nComputes with\n  \(summary.computeTypes.list())\n" }
    return text
}

/// What the author says, without what is not said.
private func entries(of metadata: AIModelAsset.Metadata) -> [(name: String, value: String)] {
    var entries = [
        ("author", metadata.author), ("license", metadata.license), ("description", metadata.description),
        ("created", metadata.creationDate?.ISO8601Format() ?? ""),
    ]
    entries += metadata.creatorDefinedMetadata.sorted { $0.key < $1.key }.map { ($0.key, $0.value.description) }
    return entries.filter { !$0.1.isEmpty }
}

private typealias File = (name: String, byteCount: Int)

/// Every file in the asset, by path.
private func files(in url: URL) -> [File] {
    let names = (try? FileManager.default.subpathsOfDirectory(atPath: url.path)) ?? []
    return names.sorted().compactMap { name in
        let attributes = try? FileManager.default.attributesOfItem(atPath: url.appendingPathComponent(name).path)
        guard let attributes, attributes[.type] as? FileAttributeType != .typeDirectory else { return nil }
        return (name, (attributes[.size] as? NSNumber)?.intValue ?? 0)
    }
}

/// What `--json` prints.
private struct AssetReport: Encodable {
    struct Value: Encodable {
        let name: String
        let type: String
    }
    struct Function: Encodable {
        let name: String
        let inputs: [Value]
        let states: [Value]
        let outputs: [Value]
    }
    struct Metadata: Encodable {
        let author: String
        let license: String
        let description: String
        let creationDate: String?
        let creatorDefined: [String: String]
    }

    let model: String
    let producer: String?
    let version: Int?
    let metadata: Metadata
    let functions: [Function]
    /// Counts by name.
    let operations: [String: Int]
    /// Scalars by type.
    let storageTypes: [String: Int]
    let computeTypes: [String]
    /// Bytes by path.
    let files: [String: Int]
    /// With `--graph`: text by name.
    let graphs: [String: String]?

    init(
        _ model: String, _ metadata: AIModelAsset.Metadata, _ program: Program?, _ summary: AIModelAsset.Summary?,
        _ files: [File], _ graphs: [Graph]
    ) {
        func values(_ values: [AIModelAsset.ValueDescriptor]) -> [Value] {
            values.map { Value(name: $0.name, type: $0.typeName) }
        }
        func dictionary<T>(_ pairs: [(String, T)]) -> [String: T] {
            Dictionary(pairs, uniquingKeysWith: { first, _ in first })
        }
        self.model = model
        producer = program?.producer
        version = program?.version
        self.metadata = Metadata(
            author: metadata.author, license: metadata.license, description: metadata.description,
            creationDate: metadata.creationDate?.ISO8601Format(),
            creatorDefined: metadata.creatorDefinedMetadata.mapValues(\.description))
        functions = (summary?.functions ?? []).map {
            Function(name: $0.name, inputs: values($0.inputs), states: values($0.states), outputs: values($0.outputs))
        }
        operations = dictionary((summary?.operationDistribution ?? []).map { ($0.operationName, $0.count) })
        storageTypes = dictionary((summary?.storageTypes ?? []).map { ($0.typeName, $0.count) })
        computeTypes = summary?.computeTypes ?? []
        self.files = dictionary(files.map { ($0.name, $0.byteCount) })
        self.graphs = graphs.isEmpty ? nil : dictionary(graphs.map { ($0.name, $0.text(constantLimit: 64)) })
    }
}
