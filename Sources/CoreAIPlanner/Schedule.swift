import CoreAIBackend
import CoreAIGraph

/// An order of the ops in which each part runs on one unit. As a part's ops stand together in an order that respects all
/// dependences, every part is convex.
struct Schedule {
    struct Part {
        var unit: Int
        var ops: [OpID]
        /// Ops whose result sizes must be evaluated from their operands before the part runs.
        var resolves: [OpID] = []
        /// The part is one op that alone can tell the sizes of its results.
        var bindsSizes = false
        /// The part is one op with regions, which the executor runs.
        var isControl = false
    }

    private(set) var parts: [Part] = []

    /// - Parameters:
    ///   - known: the symbols that have values when the graph starts.
    ///   - unitOf: the unit of each op; nil for constants.
    init(_ graph: Graph, known: Set<Int>, unitOf: [Int?]) {
        let needs = Self.dependences(graph, known, unitOf)
        var waiting = needs.map(\.count)
        var users = [[Int]](repeating: [], count: graph.ops.count)
        for (index, list) in needs.enumerated() { list.forEach { users[$0].append(index) } }
        let definers = Self.symbolDefiners(graph, known)
        var ready = ReadyOps(unitCount: (unitOf.compactMap { $0 }.max() ?? 0) + 1)
        for index in graph.ops.indices where waiting[index] == 0 {
            if let unit = unitOf[index] { ready.insert(index, unit) }
        }

        var open: Part?
        func close(_ parts: inout [Part]) {
            if let part = open { parts.append(part) }
            open = nil
        }
        while let (index, unit) = ready.next(preferring: open?.unit) {
            let op = graph.ops[index]
            if !op.regions.isEmpty {
                close(&parts)
                parts.append(Part(unit: unit, ops: [OpID(index)], isControl: true))
            } else if definers.contains(index) {
                // Whoever knows its sizes only now must stand alone: sizes bound inside a part come too late for it.
                close(&parts)
                var part = Part(unit: unit, ops: [OpID(index)])
                part.bindsSizes = op[attribute: sizedByOpAttribute] != nil
                if !part.bindsSizes { part.resolves = [OpID(index)] }
                parts.append(part)
            } else {
                if open?.unit != unit { close(&parts) }
                open = open ?? Part(unit: unit, ops: [])
                open?.ops.append(OpID(index))
            }
            for user in users[index] {
                waiting[user] -= 1
                if waiting[user] == 0, let unit = unitOf[user] { ready.insert(user, unit) }
            }
        }
        close(&parts)
    }

    /// For each op, the ops it must follow: those that define its operands and those that define symbols it names.
    private static func dependences(_ graph: Graph, _ known: Set<Int>, _ unitOf: [Int?]) -> [[Int]] {
        let definitions = graph.definingOps
        var definerOfSymbol: [Int: Int] = [:]
        return graph.ops.enumerated().map { index, op in
            var needs = Set<Int>()
            for operand in op.operands + op.regions.flatMap(\.captures) {
                if let definition = definitions[operand.index], unitOf[definition.index] != nil {
                    needs.insert(definition.index)
                }
            }
            for symbol in symbols(of: op, in: graph) where !known.contains(symbol) {
                if let definer = definerOfSymbol[symbol] {
                    needs.insert(definer)
                } else {
                    definerOfSymbol[symbol] = index
                }
            }
            needs.remove(index)
            return needs.sorted()
        }
    }

    /// The ops that are first to name a symbol which is no input's size.
    private static func symbolDefiners(_ graph: Graph, _ known: Set<Int>) -> Set<Int> {
        var seen = known
        var definers: Set<Int> = []
        for (index, op) in graph.ops.enumerated() {
            for symbol in symbols(of: op, in: graph) where seen.insert(symbol).inserted { definers.insert(index) }
        }
        return definers
    }

    private static func symbols(of op: Op, in graph: Graph) -> Set<Int> {
        var symbols: Set<Int> = []
        for result in op.results {
            for size in graph[result].type.tensor?.shape ?? [] { symbols.formUnion(size.symbols) }
        }
        for attribute in op.attributes {
            if case .dimensions(let values) = attribute.value {
                for value in values { symbols.formUnion(value.symbols) }
            }
        }
        for region in op.regions {
            for inner in region.ops { symbols.formUnion(Self.symbols(of: inner, in: region)) }
        }
        return symbols
    }
}

/// Ops ready to run, by unit, lowest first.
private struct ReadyOps {
    private var heaps: [[Int]]

    init(unitCount: Int) { heaps = Array(repeating: [], count: unitCount) }

    mutating func insert(_ op: Int, _ unit: Int) {
        // Few are ready at a time, and most come in order: insertion from the end beats a heap.
        var place = heaps[unit].count
        while place > 0, heaps[unit][place - 1] < op { place -= 1 }
        heaps[unit].insert(op, at: place)
    }

    mutating func next(preferring unit: Int?) -> (op: Int, unit: Int)? {
        if let unit, let op = heaps[unit].popLast() { return (op, unit) }
        guard let unit = heaps.indices.filter({ !heaps[$0].isEmpty }).min(by: { heaps[$0].last ?? 0 < heaps[$1].last ?? 0 }),
            let op = heaps[unit].popLast()
        else { return nil }
        return (op, unit)
    }
}
