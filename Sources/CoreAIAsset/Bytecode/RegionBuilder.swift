import CoreAIGraph

/// A region while it is read: numbers its values and notes which outer ones it uses.
///
/// The region's own values keep their stored numbers, less `outerCount`; outer values it uses are appended behind them.
struct RegionBuilder {
    let outerCount: Int
    let ownCount: Int
    let decoder: Decoder
    var graph: Graph
    private var defined = 0
    private var captured: [Int] = []
    private var captureIDs: [Int: ValueID] = [:]
    private(set) var terminator = ""

    init(name: String, outerCount: Int, ownCount: Int, decoder: Decoder) {
        self.outerCount = outerCount
        self.ownCount = ownCount
        self.decoder = decoder
        graph = Graph(name: name)
    }

    var isTerminated: Bool { !terminator.isEmpty }
    /// How many values a region inside this one finds in scope.
    var totalCount: Int { outerCount + ownCount }

    mutating func define(_ type: Int) throws(ReadError) -> ValueID {
        let type = try decoder.valueType(type)
        guard defined < ownCount else {
            throw decoder.container.program.fault("expected \(ownCount) values in \(graph.name), found more")
        }
        defined += 1
        graph.values.append(Value(type))
        return ValueID(defined - 1)
    }

    /// The value with a stored number, which may be defined later.
    mutating func use(_ number: UInt64, _ cursor: Cursor, at offset: Int) throws(ReadError) -> ValueID {
        let number = try cursor.checkedIndex(number, below: totalCount, "a value", at: offset)
        if number >= outerCount { return ValueID(number - outerCount) }
        if let known = captureIDs[number] { return known }
        try decoder.container.budget.charge(160, at: cursor)
        let id = ValueID(ownCount + captured.count)
        captured.append(number)
        captureIDs[number] = id
        return id
    }

    /// Adds an op, or ends the region if it is one of the three that do.
    mutating func append(_ op: Op, _ cursor: Cursor, at offset: Int) throws(ReadError) {
        switch op.name.withoutVersion {
        case "dataflow.output", "dataflow.yield", "controlflow.condition":
            guard op.results.isEmpty, op.regions.isEmpty else {
                throw cursor.fault("expected \(op.name) without results and regions, found some", at: offset)
            }
            terminator = op.name
            graph.outputs = op.operands.enumerated().map { Port(String($0.offset), $0.element) }
        default:
            graph.ops.append(op)
        }
    }

    /// The region, its ops in an order in which each follows its operands.
    func finish(at cursor: Cursor) throws(ReadError) -> RegionReader.Region {
        guard isTerminated else {
            throw cursor.fault("expected the region to end with a yield, a condition or an output, found none")
        }
        guard defined == ownCount else {
            throw cursor.fault("expected \(ownCount) values defined in the region, found \(defined)")
        }
        var graph = graph
        guard graph.sortOps(ownValueCount: ownCount) else {
            throw cursor.fault(
                "expected operations that do not depend on their own results, found a cycle in \(graph.name)")
        }
        return RegionReader.Region(graph: graph, captured: captured)
    }
}

extension Graph {
    /// Reorders the ops, as little as needed, so that each follows its operands; false if there is a cycle.
    fileprivate mutating func sortOps(ownValueCount: Int) -> Bool {
        var definitions = [Int](repeating: -1, count: ownValueCount)
        for (index, op) in ops.enumerated() {
            for result in op.results { definitions[result.index] = index }
        }
        func dependencies(of op: Op) -> [Int] {
            (op.operands + op.regions.flatMap(\.captures)).compactMap {
                $0.index < ownValueCount && definitions[$0.index] >= 0 ? definitions[$0.index] : nil
            }
        }
        let needs = ops.map(dependencies)
        if needs.enumerated().allSatisfy({ entry in entry.element.allSatisfy { $0 < entry.offset } }) { return true }

        enum Mark { case new, open, done }
        var marks = [Mark](repeating: .new, count: ops.count)
        var order: [Int] = []
        for root in ops.indices where marks[root] == .new {
            var stack = [(op: root, next: 0)]
            marks[root] = .open
            while let top = stack.last {
                if top.next < needs[top.op].count {
                    stack[stack.count - 1].next += 1
                    let need = needs[top.op][top.next]
                    if marks[need] == .open { return false }
                    if marks[need] == .new {
                        marks[need] = .open
                        stack.append((need, 0))
                    }
                } else {
                    marks[top.op] = .done
                    order.append(top.op)
                    stack.removeLast()
                }
            }
        }
        ops = order.map { ops[$0] }
        return true
    }

    /// Gives the captured values of open regions, at any depth, their types and their places among the inputs.
    mutating func completeCaptures() {
        for op in ops.indices where !ops[op].regions.isEmpty {
            for region in ops[op].regions.indices {
                for capture in ops[op].regions[region].captures {
                    let id = ops[op].regions[region].makeValue(values[capture.index].type)
                    let name = "\(ops[op].regions[region].inputs.count)"
                    ops[op].regions[region].inputs.append(Port(name, id))
                }
                ops[op].regions[region].completeCaptures()
            }
        }
    }
}
