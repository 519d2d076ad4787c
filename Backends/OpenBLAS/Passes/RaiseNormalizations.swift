import CoreAIBackend
import CoreAIGraph
import CoreAIOps

/// Finds layer and RMS normalization over the last axis, as exporters spell them out, and makes each one op:
/// `cpu.layer_norm` and `cpu.rms_norm`, with gain and shift where they follow.
func raiseNormalizations(_ rewriter: inout GraphRewriter) throws(BackendError) {
    let graph = rewriter.graph
    let finder = NormalizationFinder(graph, rewriter.constants)
    var raised: [Int: (name: String, operands: [ValueID], epsilon: Double)] = [:]
    for index in graph.ops.indices {
        guard let found = finder.normalization(at: index) else { continue }
        raised[index] = found
    }
    // The last op of a pattern takes its place: a norm with gain and shift holds the one without.
    var superseded: Set<Int> = []
    for (index, found) in raised where found.operands.count > 1 {
        // What is normalized before is another norm's business.
        for inner in finder.parts(of: index) where raised[inner]?.operands[0] == found.operands[0] {
            superseded.insert(inner)
        }
    }
    var position = -1
    try rewriter.rewriteOps { (rewriter, op) throws(BackendError) in
        position += 1
        guard let found = raised[position], !superseded.contains(position) else { return [op] }
        var operands = found.operands
        operands[0] = rewriter.current(operands[0])
        return [
            Op(
                found.name, operands: operands, results: op.results,
                attributes: [NamedAttribute("epsilon", .float(found.epsilon))], location: op.location)
        ]
    }
}

private struct NormalizationFinder {
    let graph: Graph
    let constants: HostConstants
    let definitions: [OpID?]
    let uses: [[OpID]]

    init(_ graph: Graph, _ constants: HostConstants) {
        self.graph = graph
        self.constants = constants
        definitions = graph.definingOps
        uses = graph.usingOps
    }

    func normalization(at index: Int) -> (name: String, operands: [ValueID], epsilon: Double)? {
        guard let found = pattern(graph.ops[index]) else { return nil }
        // A row of one column may be repeated to the gain's columns.
        let (x, result) = (graph.tensorType(found.operands[0]), graph.tensorType(graph.ops[index].results[0]))
        return x.shape == result.shape ? found : nil
    }

    private func pattern(_ op: Op) -> (name: String, operands: [ValueID], epsilon: Double)? {
        guard op.results.count == 1, let type = graph[op.results[0]].type.tensor, type.scalar == .float32,
            type.rank >= 1, let columns = type.shape.last?.constant, columns > 0
        else { return nil }
        if let plain = plain(op) { return (plain.name, [plain.x], plain.epsilon) }
        if let (inner, gain) = vector(op, "mul", columns), let norm = define(inner).flatMap({ plain($0.op) }),
            isPrivate(inner)
        {
            return (norm.name, [norm.x, gain], norm.epsilon)
        }
        if let (scaled, shift) = vector(op, "add", columns), let multiply = define(scaled), isPrivate(scaled),
            let (inner, gain) = vector(multiply.op, "mul", columns), let norm = define(inner).flatMap({ plain($0.op) }),
            norm.name == "cpu.layer_norm", isPrivate(inner)
        {
            return (norm.name, [norm.x, gain, shift], norm.epsilon)
        }
        return nil
    }

    /// The ops between a norm's last op and the one without gain and shift.
    func parts(of index: Int) -> [Int] {
        var parts: [Int] = []
        var current = index
        for _ in 0..<2 {
            guard
                let next = graph.ops[current].operands.compactMap({ definitions[$0.index]?.index }).first(where: {
                    normalization(at: $0) != nil
                })
            else { break }
            parts.append(next)
            current = next
        }
        return parts
    }

    // MARK: Pieces

    private func define(_ value: ValueID) -> (index: Int, op: Op)? {
        definitions[value.index].map { ($0.index, graph[$0]) }
    }

    private func define(_ value: ValueID, _ name: String) -> Op? {
        guard let op = define(value)?.op, op.isElementwise(name) else { return nil }
        return op
    }

    private func isPrivate(_ value: ValueID) -> Bool {
        uses[value.index].count == 1 && !graph.outputs.contains { $0.value == value }
            && !graph.states.contains { $0.output == value }
    }

    /// The two sides of a commutative op, in both orders.
    private func sides(_ op: Op, _ name: String) -> [(ValueID, ValueID)] {
        guard op.isElementwise(name), op.operands.count == 2 else { return [] }
        return [(op.operands[0], op.operands[1]), (op.operands[1], op.operands[0])]
    }

    /// A constant row of the op's columns, and the other side.
    private func vector(_ op: Op, _ name: String, _ columns: Int) -> (ValueID, ValueID)? {
        sides(op, name).first { inner, row in
            guard constants.contains(row), let shape = graph[row].type.tensor?.staticShape,
                graph.tensorType(row).scalar == .float32
            else { return false }
            return shape.last == columns && shape.reduce(1, *) == columns
        }
    }

    private func small(_ value: ValueID) -> Double? {
        constants.floats(value, limit: 1).flatMap(\.first).map(Double.init)
    }

    private func meanOverLast(_ value: ValueID) -> ValueID? {
        guard let op = define(value)?.op, op.name == "reduce_mean_v1",
            let rank = graph[op.operands[0]].type.tensor?.rank, op.axes("axes", rank: rank) == [rank - 1]
        else { return nil }
        return op.operands[0]
    }

    /// The square of a value.
    private func squared(_ value: ValueID) -> ValueID? {
        guard let op = define(value)?.op else { return nil }
        if op.isElementwise("mul"), op.operands[0] == op.operands[1] { return op.operands[0] }
        if op.isElementwise("power") || op.isElementwise("pow"), small(op.operands[1]) == 2 { return op.operands[0] }
        return nil
    }

    /// What `value` is the inverse square root of: a mean of squares and an epsilon.
    private func spread(_ value: ValueID) -> (squares: ValueID, epsilon: Double)? {
        guard let root = define(value)?.op else { return nil }
        var sum: ValueID?
        if root.name == "primitive.rsqrt_v1" { sum = root.operands[0] }
        if root.isElementwise("divide"), small(root.operands[0]) == 1,
            let square = define(root.operands[1])?.op, square.name == "primitive.sqrt_v1"
        {
            sum = square.operands[0]
        }
        return sum.flatMap(meanAndEpsilon)
    }

    private func meanAndEpsilon(_ sum: ValueID) -> (squares: ValueID, epsilon: Double)? {
        guard let add = define(sum)?.op else { return nil }
        for (mean, constant) in sides(add, "add") {
            if let epsilon = small(constant), let squares = meanOverLast(mean) { return (squares, epsilon) }
        }
        return nil
    }

    /// A normalization without gain or shift: the centred value, or the value itself, times its inverse spread.
    private func plain(_ op: Op) -> (name: String, x: ValueID, epsilon: Double)? {
        for (value, factor) in sides(op, "mul") {
            if let spread = spread(factor), let found = named(value, spread) { return found }
        }
        // Divided by the root instead.
        if op.isElementwise("divide"), let root = define(op.operands[1])?.op, root.name == "primitive.sqrt_v1",
            let spread = meanAndEpsilon(root.operands[0])
        {
            return named(op.operands[0], spread)
        }
        return nil
    }

    private func named(
        _ value: ValueID, _ spread: (squares: ValueID, epsilon: Double)
    ) -> (name: String, x: ValueID, epsilon: Double)? {
        guard squared(spread.squares) == value else { return nil }
        if let centred = define(value, "sub"), meanOverLast(centred.operands[1]) == centred.operands[0] {
            return ("cpu.layer_norm", centred.operands[0], spread.epsilon)
        }
        return ("cpu.rms_norm", value, spread.epsilon)
    }
}
