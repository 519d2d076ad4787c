import CoreAIAsset
import CoreAIGraph
import Foundation

/// An asset's program, ready to be specialized.
struct ModelSource: Sendable {
    let url: URL
    /// Every graph, public and private, in the asset's order.
    let graphs: [Graph]
    let notes: [String]

    /// Opens, verifies and reads.
    /// - Throws: `AssetError` for damage; an error of POSIX kind for a path that cannot be opened.
    init(_ url: URL, ignoringHash: Bool, clock: inout PhaseClock) throws {
        self.url = url
        let asset = try clock.measure("open") { try LoadedAsset(contentsOf: url) }
        let note = try clock.measure("verify") { try asset.verifiedDigest(ignoringHash: ignoringHash).note }
        guard let program = try clock.measure("read", { try asset.program() }) else {
            throw AIModelError(.loadFailed, "\(url.path) holds no program; this runtime loads portable .aimodel assets")
        }
        graphs = program.graphs
        notes = note.map { [$0] } ?? []
    }

    /// Names to graphs, for calls.
    var library: [String: Graph] { Dictionary(graphs.map { ($0.name, $0) }, uniquingKeysWith: { first, _ in first }) }

    /// The graphs that callers may run.
    var functions: [Graph] { graphs.filter { !$0.isPrivate } }
}
