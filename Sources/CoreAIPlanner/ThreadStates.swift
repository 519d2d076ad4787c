import CoreAIGraph

/// The graph with each state as a chain of values from a value at entry to a value at exit.
///
/// Tokens only say in which order handles are read and written, which is the order of the ops as stored; with the chains in
/// place they have done their work, and neither a handle nor a token is left.
func threadStates(_ graph: Graph) throws(GraphError) -> Graph {
    let hasHandles = graph.inputs.contains { port in
        if case .handle = graph[port.value].type { true } else { false }
    }
    guard hasHandles || graph.values.contains(where: { $0.type == .token }) else { return graph }
    var result = graph
    result.ops = []
    result.inputs = []
    /// What a handle holds, and what a read answered.
    var current: [ValueID: ValueID] = [:]
    var replacement: [ValueID: ValueID] = [:]
    var handles: [Port] = []
    for port in graph.inputs {
        guard case .handle(let inner) = graph[port.value].type else {
            result.inputs.append(port)
            continue
        }
        handles.append(port)
        current[port.value] = result.makeValue(inner)
    }
    let entries = current
    for op in graph.ops {
        switch StateOp(op.name) {
        case .createToken, .joinToken: continue
        case .read:
            guard let handle = op.operands.first, let value = current[handle], let read = op.results.first else {
                throw GraphError("reads something that is no state of the function", op: op)
            }
            replacement[read] = value
        case .write:
            guard op.operands.count >= 2, current[op.operands[0]] != nil else {
                throw GraphError("writes something that is no state of the function", op: op)
            }
            current[op.operands[0]] = replacement[op.operands[1]] ?? op.operands[1]
        case nil:
            guard !op.operands.contains(where: { current[$0] != nil }),
                !op.regions.contains(where: { $0.captures.contains { current[$0] != nil } })
            else { throw GraphError("states inside control flow are not supported by this runtime yet", op: op, isUnsupported: true) }
            var copy = op
            copy.operands = op.operands.map { replacement[$0] ?? $0 }
            for index in copy.regions.indices {
                copy.regions[index].captures = op.regions[index].captures.map { replacement[$0] ?? $0 }
            }
            result.ops.append(copy)
        }
    }
    result.outputs = graph.outputs.filter { graph[$0.value].type != .token }
        .map { Port($0.name, replacement[$0.value] ?? $0.value) }
    result.states = handles.compactMap { port in
        guard let entry = entries[port.value], let exit = current[port.value] else { return nil }
        return StatePort(port.name, input: entry, output: exit)
    }
    return result
}

private enum StateOp {
    case createToken, joinToken, read, write

    init?(_ name: String) {
        switch name {
        case _ where name.hasPrefix("dataflow.create_token_v"): self = .createToken
        case _ where name.hasPrefix("dataflow.join_token_v"): self = .joinToken
        case _ where name.hasPrefix("dataflow.read_handle_v"): self = .read
        case _ where name.hasPrefix("dataflow.write_handle_v"): self = .write
        default: return nil
        }
    }
}
