package import CoreAIBackend
package import CoreAIGraph

package struct PlanError: Error, Sendable, CustomStringConvertible {
    package enum Code: Hashable, Sendable { case unknownOperation, unplaceable, limitExceeded }
    package var code: Code
    /// What is wrong, with the names and numbers.
    package var message: String
    package var cause: (any Error)?

    package init(_ code: Code, _ message: String, cause: (any Error)? = nil) {
        self.code = code
        self.message = message
        self.cause = cause
    }
    package var description: String { message }
}

/// Cuts a canonical graph into segments, each for one backend. Pure and deterministic: ties go by op order.
package struct Planner: Sendable {
    package struct Unit: Sendable {
        package var backend: any Backend
        package var target: Target
        package init(_ backend: any Backend, target: Target) {
            self.backend = backend
            self.target = target
        }
        var name: String { backend.info.name }
    }

    /// In order of preference; the last accepts every op of the table.
    package var units: [Unit]

    package init(units: [Unit]) { self.units = units }

    package func plan(_ canonical: CanonicalGraph) throws(PlanError) -> Plan {
        try plan(canonical.graph, known: Set(0..<canonical.inputSymbolCount), canonical)
    }

    /// - Parameter known: the symbols that have values when the graph starts.
    private func plan(_ graph: Graph, known: Set<Int>, _ canonical: CanonicalGraph) throws(PlanError) -> Plan {
        let placement = try place(graph)
        let schedule = Schedule(graph, known: known, unitOf: placement.unitOf)
        var subplans: [OpID: [Plan]] = [:]
        let links = Links(graph)
        var segments: [Segment] = []
        var steps: [Plan.Step] = []
        for part in schedule.parts {
            if part.isControl {
                steps.append(.control(part.ops[0]))
                var plans: [Plan] = []
                for region in graph[part.ops[0]].regions {
                    plans.append(
                        try plan(
                            region, known: known.union(Self.symbols(graph)).union(Self.inputSymbols(region)), canonical)
                    )
                }
                subplans[part.ops[0]] = plans
                continue
            }
            steps += part.resolves.map(Plan.Step.resolveSizes)
            steps.append(part.bindsSizes ? .runAndBindSizes(segment: segments.count) : .run(segment: segments.count))
            segments.append(segment(graph, links, part.ops, units[part.unit].name))
        }
        let used = Set(segments.map(\.backend))
        var targets: [String: String] = [:]
        let all = subplans.values.joined().reduce(used) { $0.union($1.backends) }
        for unit in units where all.contains(unit.name) { targets[unit.name] = unit.target.name }
        return Plan(
            graph: graph, segments: segments, steps: steps, notes: placement.notes, subplans: subplans,
            constraints: canonical.constraints, symbolBounds: canonical.symbolBounds, targets: targets)
    }

    private static func symbols(_ graph: Graph) -> Set<Int> {
        graph.values.reduce(into: []) { symbols, value in
            for size in value.type.tensor?.shape ?? [] { symbols.formUnion(size.symbols) }
        }
    }

    private static func inputSymbols(_ graph: Graph) -> Set<Int> {
        graph.inputs.reduce(into: []) { symbols, port in
            for size in graph.tensorType(port.value).shape { symbols.formUnion(size.symbols) }
        }
    }

    // MARK: Propose and place

    private struct Placement {
        /// For each op its unit; nil for constants, which go along with whoever reads them.
        var unitOf: [Int?]
        var notes: [PlacementNote]
    }

    private func place(_ graph: Graph) throws(PlanError) -> Placement {
        var proposals: [Proposal] = []
        for unit in units {
            do {
                proposals.append(try unit.backend.propose(for: graph, on: unit.target))
            } catch {
                throw PlanError(.unplaceable, "\(unit.name): \(error)", cause: error)
            }
        }
        let taken = proposals.map { proposal in Set(proposal.groups.flatMap(\.ops)) }
        var placement = Placement(unitOf: Array(repeating: nil, count: graph.ops.count), notes: [])
        for (index, op) in graph.ops.enumerated() where !op.isConstant {
            if !op.regions.isEmpty {
                placement.unitOf[index] = units.count
                placement.notes.append(
                    PlacementNote(
                        op: OpID(index), name: op.name, backend: Plan.host, reason: nil, location: op.location))
                continue
            }
            guard let unit = units.indices.first(where: { taken[$0].contains(OpID(index)) }) else {
                throw PlanError(.unplaceable, "no backend takes \(GraphError("op \(index)", op: op))")
            }
            placement.unitOf[index] = unit
            let reasons = (0..<unit).map { earlier in
                "\(units[earlier].name): \(proposals[earlier].rejections[OpID(index)]?.reason ?? "not offered")"
            }
            placement.notes.append(
                PlacementNote(
                    op: OpID(index), name: op.name, backend: units[unit].name,
                    reason: reasons.isEmpty ? nil : reasons.joined(separator: "; "), location: op.location))
        }
        return placement
    }

    // MARK: Segments

    /// Who defines and who uses each value.
    private struct Links {
        let definitions: [OpID?]
        let uses: [[OpID]]
        let results: Set<ValueID>

        init(_ graph: Graph) {
            definitions = graph.definingOps
            uses = graph.usingOps
            results = Set(graph.outputs.map(\.value)).union(graph.states.map(\.output))
        }
    }

    private func segment(_ plan: Graph, _ links: Links, _ ops: [OpID], _ backend: String) -> Segment {
        let inside = Set(ops)
        var graph = Graph(name: plan.name)
        graph.symbolCount = plan.symbolCount
        var map: [ValueID: ValueID] = [:]
        var inputs: [ValueID] = []
        var outputs: [ValueID] = []
        var constants: [OpID] = []
        for id in ops {
            for operand in plan[id].operands where map[operand] == nil {
                guard let definition = links.definitions[operand.index] else {
                    inputs.append(operand)
                    map[operand] = graph.makeValue(plan[operand].type)
                    continue
                }
                if plan[definition].isConstant {
                    constants.append(definition)
                    for result in plan[definition].results { map[result] = graph.makeValue(plan[result].type) }
                } else if !inside.contains(definition) {
                    inputs.append(operand)
                    map[operand] = graph.makeValue(plan[operand].type)
                }
            }
            for result in plan[id].results { map[result] = graph.makeValue(plan[result].type) }
            for result in plan[id].results
            where links.results.contains(result) || links.uses[result.index].contains(where: { !inside.contains($0) }) {
                outputs.append(result)
            }
        }
        let states = updatedStates(plan, links, inside)
        inputs.removeAll { input in states.contains { $0.input == input } }
        outputs.removeAll { output in states.contains { $0.output == output } }
        func mapped(_ value: ValueID) -> ValueID {
            guard let mapped = map[value] else { preconditionFailure("\(value) is not in the segment") }
            return mapped
        }
        graph.ops = (constants + ops).map { id in
            var op = plan[id]
            op.operands = op.operands.map(mapped)
            op.results = op.results.map(mapped)
            return op
        }
        graph.inputs = inputs.enumerated().map { Port("i\($0)", mapped($1)) }
        graph.states = states.enumerated().map {
            StatePort("s\($0)", input: mapped($1.input), output: mapped($1.output))
        }
        graph.outputs = outputs.enumerated().map { Port("o\($0)", mapped($1)) }
        return Segment(
            backend: backend, graph: graph, ops: ops, clusters: clusters(in: graph), inputs: inputs, states: states,
            outputs: outputs)
    }

    /// States that only this segment reads before they are updated, and that it updates: their memory may be written while
    /// it runs. What they hold at the end must be theirs alone.
    private func updatedStates(_ plan: Graph, _ links: Links, _ inside: Set<OpID>) -> [Segment.State] {
        let entries = Set(plan.states.map(\.input))
        return plan.states.compactMap { port in
            guard port.input != port.output, !entries.contains(port.output),
                plan.states.count(where: { $0.output == port.output }) == 1,
                !plan.outputs.contains(where: { $0.value == port.output || $0.value == port.input }),
                !plan.states.contains(where: { $0.output == port.input }),
                plan[port.input].type == plan[port.output].type,
                let definition = links.definitions[port.output.index], inside.contains(definition),
                !links.uses[port.input.index].isEmpty, links.uses[port.input.index].allSatisfy(inside.contains)
            else { return nil }
            return Segment.State(input: port.input, output: port.output)
        }
    }
}
