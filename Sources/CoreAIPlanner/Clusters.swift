import CoreAIBackend
import CoreAIGraph
import CoreAIOps

/// Groups of a segment's ops that one kernel could compute together, by form alone: chains of pointwise ops and views, a
/// reduction with the pointwise ops that feed it alone, and what follows a kernel op by op.
///
/// - Returns: positions in `graph.ops`; groups of one are left out.
func clusters(in graph: Graph) -> [[Int]] {
    let definitions = graph.definingOps
    let uses = graph.usingOps
    let results = Set(graph.outputs.map(\.value)).union(graph.states.map(\.output))
    var leader = Array(graph.ops.indices)
    func root(_ index: Int) -> Int {
        var index = index
        while leader[index] != index { index = leader[index] }
        return index
    }
    for (index, op) in graph.ops.enumerated() where !op.isConstant {
        for operand in op.operands {
            guard let definition = definitions[operand.index]?.index, !graph.ops[definition].isConstant,
                uses[operand.index].count == 1, !results.contains(operand),
                fuses(graph.ops[definition], into: op)
            else { continue }
            let (a, b) = (root(definition), root(index))
            leader[max(a, b)] = min(a, b)
        }
    }
    let groups = Dictionary(grouping: graph.ops.indices.filter { !graph.ops[$0].isConstant }, by: root)
    return groups.values.filter { $0.count > 1 }.sorted { $0[0] < $1[0] }
}

private func fuses(_ producer: Op, into consumer: Op) -> Bool {
    guard let first = OpTable[producer.name]?.form, let second = OpTable[consumer.name]?.form else { return false }
    switch (first, second) {
    case (.pointwise, .pointwise), (.pointwise, .reduction), (.reduction, .pointwise), (.kernel, .pointwise):
        return true
    case (.view, .pointwise), (.pointwise, .view), (.view, .view), (.view, .kernel), (.kernel, .view): return true
    case (.weight, .kernel): return true
    default: return false
    }
}
