import CoreAIGraph

extension Session {
    /// Multiplications and additions of the products and convolutions of one run with these inputs and states.
    ///
    /// - Returns: nil if only a run can tell, because of control flow or of sizes that depend on values.
    var productOperations: Double? {
        guard let graph = model.content.function(function.descriptor.name)?.plan.graph else { return nil }
        var symbols = [Int?](repeating: nil, count: graph.symbolCount)
        let shapes = Dictionary(
            (inputs + states).map { ($0.name, $0.array.shape) }, uniquingKeysWith: { first, _ in first })
        let ports = graph.inputs.map { ($0.name, $0.value) } + graph.states.map { ($0.name, $0.input) }
        for (name, value) in ports {
            guard let type = graph[value].type.tensor, let shape = shapes[name] else { continue }
            for (dimension, size) in zip(type.shape, shape) {
                if let number = dimension.symbolNumber, symbols.indices.contains(number) { symbols[number] = size }
            }
        }
        return graph.productOperations(symbols)
    }
}

extension Graph {
    /// - Parameter symbols: the sizes that symbols stand for.
    func productOperations(_ symbols: [Int?]) -> Double? {
        func sizes(_ value: ValueID) -> [Double]? { self[value].type.tensor?.shape(symbols)?.map(Double.init) }
        var total = 0.0
        for op in ops {
            guard op.regions.isEmpty else { return nil }
            let name = op.name.split(separator: ".").last.map(String.init) ?? op.name
            guard let rule = productRules.first(where: { name.hasPrefix($0.prefix) }) else { continue }
            guard op.operands.count >= 2, let result = op.results.first, let x = sizes(op.operands[0]),
                let y = sizes(op.operands[1]), let z = sizes(result)
            else { return nil }
            total += 2 * rule.terms(x, y, z)
        }
        return total
    }
}

/// How many terms an op adds up, from the sizes of its operands x and y and of its result z. The first that fits counts.
private let productRules: [(prefix: String, terms: @Sendable ([Double], [Double], [Double]) -> Double)] = [
    ("conv_transpose", { x, y, _ in x.product * Array(y.dropFirst()).product }),
    ("conv", { _, y, z in z.product * Array(y.dropFirst()).product }),
    ("batch_matmul", { x, _, z in z.product * (x.last ?? 1) }),
    ("broadcasting_batch_matmul", { x, _, z in z.product * (x.last ?? 1) }),
]

extension [Double] {
    fileprivate var product: Double { reduce(1, *) }
}
