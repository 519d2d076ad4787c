import CoreAIGraph

/// The graph without ops whose results nobody uses, its values renumbered in order of definition.
func dropDeadOps(_ graph: Graph) -> Graph {
    var isUsed = [Bool](repeating: false, count: graph.values.count)
    for port in graph.outputs { isUsed[port.value.index] = true }
    for state in graph.states { isUsed[state.output.index] = true }
    var kept: [Op] = []
    for op in graph.ops.reversed() where op.results.contains(where: { isUsed[$0.index] }) {
        for operand in op.operands + op.regions.flatMap(\.captures) { isUsed[operand.index] = true }
        kept.append(op)
    }
    return renumbered(graph, ops: kept.reversed())
}

/// `graph` with other ops and without the values that nothing defines.
private func renumbered(_ graph: Graph, ops: [Op]) -> Graph {
    var result = graph
    result.values = []
    var map = [ValueID](repeating: ValueID(0), count: graph.values.count)
    func define(_ value: ValueID) { map[value.index] = result.makeValue(graph[value].type) }
    graph.inputs.forEach { define($0.value) }
    graph.states.forEach { define($0.input) }
    result.ops = ops.map { op in
        var op = op
        op.operands = op.operands.map { map[$0.index] }
        for index in op.regions.indices {
            op.regions[index].captures = op.regions[index].captures.map { map[$0.index] }
        }
        op.results.forEach(define)
        op.results = op.results.map { map[$0.index] }
        return op
    }
    result.inputs = graph.inputs.map { Port($0.name, map[$0.value.index]) }
    result.outputs = graph.outputs.map { Port($0.name, map[$0.value.index]) }
    result.states = graph.states.map {
        StatePort($0.name, input: map[$0.input.index], output: map[$0.output.index])
    }
    return result
}
