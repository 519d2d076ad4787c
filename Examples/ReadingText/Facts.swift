import CoreAI
import Foundation

/// What is in an asset, before anything is specialized.
func printAsset(_ url: URL) throws {
    let asset = try AIModelAsset(contentsOf: url)
    heading("What is loaded")
    row("asset", shortPath(url))
    if let producer = producer(of: url) { row("producer", producer) }
    for (name, value) in [("author", asset.metadata.author), ("licence", asset.metadata.license)] where !value.isEmpty {
        row(name, value)
    }
    guard let summary = try asset.summary(includingStatistics: true) else { return }
    for function in summary.functions {
        row("function", function.name)
        for value in function.inputs { row("  input", "\(value.name): \(value.typeName)") }
        for value in function.states { row("  state", "\(value.name): \(value.typeName)") }
        for value in function.outputs { row("  output", "\(value.name): \(value.typeName)") }
    }
    let weights = summary.storageTypes.prefix(3).map { "\($0.count) \($0.typeName)" }
    row("stored scalars", weights.joined(separator: ", "))
    let counts = summary.operationDistribution
    row("stored operations", "\(counts.reduce(0) { $0 + $1.count }) of \(counts.count) kinds")
    let common = counts.prefix(4).map { "\($0.count) \($0.operationName)" }
    row("", common.joined(separator: ", "))
}

/// Who wrote the asset, from its `metadata.json`.
private func producer(of url: URL) -> String? {
    struct Metadata: Decodable { var producer: String? }
    let data = try? Data(contentsOf: url.appendingPathComponent("metadata.json"))
    return data.flatMap { try? JSONDecoder().decode(Metadata.self, from: $0).producer }
}

/// Where the operations of a function run, and the commonest reasons why not on the first backend.
func printPlacement(_ placement: PlacementReport) {
    heading("Where it runs")
    row("simplified to", "\(placement.entries.count) operations in \(placement.segmentCount) segments")
    for (backend, count) in placement.countsByBackend {
        let units = Set(placement.entries.filter { $0.backend == backend }.map { "\($0.unit)" }).sorted()
        row(backend, "\(count) operations, \(units.joined(separator: ", "))")
    }
    if let note = placement.note { row("note", note) }
    var reasons: [(text: String, count: Int)] = []
    for entry in placement.entries {
        guard let text = entry.reason else { continue }
        if let index = reasons.firstIndex(where: { $0.text == text }) {
            reasons[index].count += 1
        } else {
            reasons.append((text, 1))
        }
    }
    for (index, reason) in reasons.sorted(by: { $0.count > $1.count }).prefix(4).enumerated() {
        row(index == 0 ? "why" : "", "\(reason.count) × \(reason.text)")
    }
}
