import CoreAIGraph
import CoreAIOps

/// The graph with the bodies of called graphs, of isolated groups, and of composites the op table does not know in
/// place of the ops that name them.
/// - Parameter callers: the names of the graphs this one is called from, itself last.
func inlineCalls(_ graph: Graph, _ library: [String: Graph], callers: [String]) throws(GraphError) -> Graph {
    var inliner = Inliner(library: library, result: graph)
    inliner.result.ops = []
    inliner.result.values = []
    var map = inliner.map(for: graph)
    for port in graph.inputs { map[port.value.index] = inliner.result.makeValue(graph[port.value].type) }
    for state in graph.states { map[state.input.index] = inliner.result.makeValue(graph[state.input].type) }
    try inliner.append(graph, &map, callers: callers)
    inliner.result.states = try inliner.states(graph, map)
    inliner.result.inputs = graph.inputs.map { Port($0.name, map[$0.value.index] ?? $0.value) }
    inliner.result.outputs = try inliner.ports(graph, map)
    return inliner.result
}

private struct Inliner {
    let library: [String: Graph]
    var result: Graph

    /// Bodies that call bodies that call bodies can grow without bound; no real program comes near.
    private static let opLimit = 100_000
    private static let depthLimit = 64

    init(library: [String: Graph], result: Graph) {
        self.library = library
        self.result = result
    }

    func map(for graph: Graph) -> [ValueID?] { Array(repeating: nil, count: graph.values.count) }

    func ports(_ graph: Graph, _ map: [ValueID?]) throws(GraphError) -> [Port] {
        var ports: [Port] = []
        for port in graph.outputs {
            guard let value = map[port.value.index] else {
                throw GraphError("output '\(port.name)' of \(graph.name) is never defined")
            }
            ports.append(Port(port.name, value))
        }
        return ports
    }

    /// States of a graph that has been through `threadStates` already.
    func states(_ graph: Graph, _ map: [ValueID?]) throws(GraphError) -> [StatePort] {
        var states: [StatePort] = []
        for state in graph.states {
            guard let input = map[state.input.index], let output = map[state.output.index] else {
                throw GraphError("state '\(state.name)' of \(graph.name) is never defined")
            }
            states.append(StatePort(state.name, input: input, output: output))
        }
        return states
    }

    mutating func append(_ graph: Graph, _ map: inout [ValueID?], callers: [String]) throws(GraphError) {
        guard callers.count <= Self.depthLimit else { throw GraphError("calls nest more than \(Self.depthLimit) deep") }
        for op in graph.ops {
            guard result.ops.count < Self.opLimit else {
                throw GraphError("the program has more than \(Self.opLimit) ops after its calls are inlined")
            }
            var operands: [ValueID] = []
            for operand in op.operands {
                guard let value = map[operand.index] else {
                    throw GraphError("\(operand) is used before it is defined", op: op)
                }
                operands.append(value)
            }
            if let body = try body(of: op, callers: callers) {
                try inline(body, op, operands, &map, callers: callers + [body.name])
            } else {
                var copy = op
                copy.operands = operands
                copy.results = op.results.map { result.makeValue(graph[$0].type) }
                copy.regions = try regions(of: op, map, callers: callers)
                for (old, new) in zip(op.results, copy.results) { map[old.index] = new }
                result.ops.append(copy)
            }
        }
    }

    /// Regions of control flow stay, with their own calls inlined; their captures name values of the new graph.
    private func regions(of op: Op, _ map: [ValueID?], callers: [String]) throws(GraphError) -> [Graph] {
        guard OpTable[op.name] == nil || OpTable.isControl(op.name) else { return [] }
        var regions = op.regions
        for index in regions.indices {
            regions[index] = try inlineCalls(regions[index], library, callers: callers + [op.name])
            var captures: [ValueID] = []
            for capture in regions[index].captures {
                guard let value = map[capture.index] else {
                    throw GraphError("\(capture) is used before it is defined", op: op)
                }
                captures.append(value)
            }
            regions[index].captures = captures
        }
        return regions
    }

    /// What stands in place of the op, or nil if the op stays.
    private func body(of op: Op, callers: [String]) throws(GraphError) -> Graph? {
        if op.name.hasPrefix("dataflow.invoke_v") {
            guard case .symbol(let path)? = op[attribute: "callee"] else { throw GraphError("no callee", op: op) }
            let name = path.joined(separator: "_")
            guard let body = library[name] else {
                throw GraphError("calls '\(name)', which the asset does not hold", op: op)
            }
            guard !callers.contains(name) else { throw GraphError("'\(name)' calls itself", op: op) }
            return body
        }
        if OpTable[op.name] != nil { return nil }
        // A composite of a name or version that the table does not know spells itself out in its region.
        let isGroup = op.name.hasPrefix("dataflow.isolated_group_v")
        let isStructural = ["controlflow.", "dataflow.", "primitive."].contains { op.name.hasPrefix($0) }
        if op.regions.count == 1, isGroup || !isStructural { return op.regions[0] }
        return nil
    }

    private mutating func inline(
        _ body: Graph, _ op: Op, _ operands: [ValueID], _ map: inout [ValueID?], callers: [String]
    ) throws(GraphError) {
        guard body.captures.isEmpty, body.inputs.count == operands.count, body.outputs.count == op.results.count else {
            throw GraphError(
                "has \(operands.count) operands and \(op.results.count) results, '\(body.name)' has "
                    + "\(body.inputs.count) and \(body.outputs.count)", op: op)
        }
        var inner = self.map(for: body)
        for (port, operand) in zip(body.inputs, operands) { inner[port.value.index] = operand }
        try append(body, &inner, callers: callers)
        for (old, port) in zip(op.results, try ports(body, inner)) { map[old.index] = port.value }
    }
}
