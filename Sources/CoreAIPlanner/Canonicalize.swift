package import CoreAIGraph
import CoreAIOps

/// A graph ready to be planned: calls inlined, states threaded, shapes inferred, steering operands turned into attributes, constants
/// folded, dead ops dropped.
package struct CanonicalGraph: Hashable, Sendable {
    package var graph: Graph
    /// Sizes that must agree at run time, in the graph and in the regions of its ops. Symbols are numbered through all.
    package var constraints: [SizeConstraint]
    /// Upper bounds of symbols that only running an op can bind.
    package var symbolBounds: [Int: Dimension]
    /// Symbols below this number are sizes of inputs; the others are defined by ops.
    package var inputSymbolCount: Int}

/// - Parameters:
///   - graph: a function as read.
///   - library: every graph of the asset by name, for calls.
/// - Throws: `GraphError` naming the op and its place in the author's source.
package func canonicalize(_ graph: Graph, library: [String: Graph]) throws(GraphError) -> CanonicalGraph {
    var canonical = CanonicalGraph(graph: graph, constraints: [], symbolBounds: [:], inputSymbolCount: 0)
    canonical.graph = try inlineCalls(canonical.graph, library, callers: [graph.name])
    canonical.graph = try threadStates(canonical.graph)
    try resolve(&canonical)
    canonical.graph = dropDeadOps(canonical.graph)
    return canonical
}
