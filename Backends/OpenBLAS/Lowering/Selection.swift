import CKernels
import CoreAIBackend
import CoreAIGraph
import CoreAIOps

/// Chooses kernels for the ops of a rewritten graph.
struct Selection {
    let graph: Graph
    let constants: HostConstants
    let definitions: [OpID?]
    let uses: [[OpID]]
    let isOutput: [Bool]
    /// Pointwise ops whose expression chains can hold.
    private let isChainable: [Bool]
    /// What is to be packed once all is chosen.
    let packing = PackingJobs()
    /// Ops that a step at a later op computes.
    var isAbsorbed: [Bool]
    /// Values that some step reads: what nobody reads is not made, such as a transpose that is read through.
    private var isNeeded: [Bool]
    /// The steps that stand at each op.
    private var chosen: [Int: [HostStep]] = [:]

    init(_ rewriter: GraphRewriter) {
        graph = rewriter.graph
        constants = rewriter.constants
        definitions = graph.definingOps
        uses = graph.usingOps
        var isOutput = [Bool](repeating: false, count: graph.values.count)
        for value in graph.outputs.map(\.value) + graph.states.map(\.output) { isOutput[value.index] = true }
        self.isOutput = isOutput
        isNeeded = isOutput
        isChainable = rewriter.graph.ops.map { Self.isChainable($0, rewriter.graph) }
        isAbsorbed = Array(repeating: false, count: graph.ops.count)
    }

    func type(_ value: ValueID) -> TensorType { graph.tensorType(value) }

    private func definition(of value: ValueID) -> (index: Int, op: Op)? {
        definitions[value.index].map { ($0.index, graph[$0]) }
    }

    // MARK: The walk

    mutating func choose() throws(BackendError) {
        for index in graph.ops.indices.reversed() where !isAbsorbed[index] {
            let op = graph.ops[index]
            guard op.results.contains(where: { isNeeded[$0.index] }) else {
                isAbsorbed[index] = true
                continue
            }
            var isDone = false
            if op.pointwise != nil { isDone = try chooseChain(index) }
            if !isDone, let steps = try single(index, tail: nil) {
                chosen[index] = steps
                isDone = true
            }
            let read = isDone ? (chosen[index] ?? []).flatMap(\.operands) : op.operands
            for value in read { isNeeded[value.index] = true }
        }
    }

    /// The program, in the order of the ops.
    func program() throws(BackendError) -> HostProgram {
        var program = HostProgram(graph, constants)
        for (index, op) in graph.ops.enumerated() where !isAbsorbed[index] {
            if op.isView {
                program.appendView(op)
            } else if let steps = chosen[index] {
                program.steps += steps
            } else {
                try program.appendSingle(op)
            }
        }
        return program
    }

    // MARK: Chains

    /// The chain that ends at an op, with the product before it where there is one.
    private mutating func chooseChain(_ root: Int) throws(BackendError) -> Bool {
        for limit in [Self.chainLimit, 1] {
            let members = withoutPrefixes(cluster(root, limit: limit), root)
            guard let (chain, node) = chain(members, root) else { continue }
            let result = graph.ops[root].results[0]
            if let steps = try productBefore(members, chain, node, root) {
                for member in members where member != root { isAbsorbed[member] = true }
                chosen[root] = steps
                return true
            }
            guard let kernel = ChainKernel(chain, root: node, result: type(result).scalar) else { continue }
            for member in members where member != root { isAbsorbed[member] = true }
            chosen[root] = [
                ChainStep.make(
                    graph.ops[root], kernel, result: result, names: members.map { graph.ops[$0].plainName })
            ]
            return true
        }
        return false
    }

    /// Ops in a chain; each adds a step or more, and a chain's registers are few.
    private static let chainLimit = 28

    /// The pointwise ops of one shape whose results only the chain that ends at `root` reads.
    private func cluster(_ root: Int, limit: Int) -> [Int] {
        guard isChainable[root] else { return [] }
        let shape = type(graph.ops[root].results[0]).shape
        var members: Set<Int> = [root]
        var candidates = Set(producers(of: root))
        // From the last candidate on: by then it is known of all its users whether they belong.
        while members.count < limit, let candidate = candidates.max() {
            candidates.remove(candidate)
            let result = graph.ops[candidate].results[0]
            guard !isAbsorbed[candidate], isChainable[candidate], !isOutput[result.index],
                type(result).shape == shape, uses[result.index].allSatisfy({ members.contains($0.index) })
            else { continue }
            members.insert(candidate)
            candidates.formUnion(producers(of: candidate))
        }
        return members.sorted()
    }

    /// Where several products feed a chain, only the last can have it as its tail: what is done to the others by constants
    /// alone stays with them.
    private func withoutPrefixes(_ members: [Int], _ root: Int) -> [Int] {
        var inside = Set(members)
        var products = members.flatMap { graph.ops[$0].operands }.filter { value in
            definition(of: value).map { isProduct($0.op) && !isOutput[value.index] } ?? false
        }
        products = Set(products).sorted { (definitions[$0.index]?.index ?? 0) < (definitions[$1.index]?.index ?? 0) }
        guard products.count > 1 else { return members }
        for product in products.dropLast() {
            var value = product
            while uses[value.index].count == 1, let user = uses[value.index].first?.index, user != root,
                inside.contains(user),
                graph.ops[user].operands.allSatisfy({ $0 == value || constants.contains($0) })
            {
                inside.remove(user)
                value = graph.ops[user].results[0]
            }
        }
        return inside.sorted()
    }

    private func producers(of index: Int) -> [Int] {
        graph.ops[index].operands.compactMap { definitions[$0.index]?.index }
    }

    private static func isChainable(_ op: Op, _ graph: Graph) -> Bool {
        guard let expression = op.pointwise, op.results.count == 1, op[attribute: sizedByOpAttribute] == nil,
            (op.operands + op.results).allSatisfy({
                graph[$0].type.tensor.map { PointwiseChain.takes($0.scalar) && $0.rank <= 6 } ?? false
            })
        else { return false }
        var chain = PointwiseChain()
        let inputs = op.operands.map { chain.operand($0, graph.tensorType($0).scalar) }
        return chain.add(expression, over: inputs, result: graph.tensorType(op.results[0]).scalar) != nil
    }

    private func chain(_ members: [Int], _ root: Int) -> (PointwiseChain, Int)? {
        guard !members.isEmpty else { return nil }
        var chain = PointwiseChain()
        var nodes: [ValueID: Int] = [:]
        for member in members {
            let op = graph.ops[member]
            guard let expression = op.pointwise else { return nil }
            let inputs = op.operands.map { operand -> Int in
                if let node = nodes[operand] { return node }
                let scalar = type(operand).scalar
                if scalar == .float32, type(operand).elementCount == 1, let value = constants.floats(operand, limit: 1)
                {
                    return chain.constant(value[0])
                }
                return chain.operand(operand, scalar)
            }
            guard let node = chain.add(expression, over: inputs, result: type(op.results[0]).scalar) else { return nil }
            nodes[op.results[0]] = node
        }
        return nodes[graph.ops[root].results[0]].map { (chain, $0) }
    }

    /// A product or convolution that only this chain reads, with the chain as its tail.
    private mutating func productBefore(
        _ members: [Int], _ chain: PointwiseChain, _ node: Int, _ root: Int
    ) throws(BackendError) -> [HostStep]? {
        let rootType = type(graph.ops[root].results[0])
        guard rootType.scalar == .float32 else { return nil }
        let inside = Set(members)
        let candidates = chain.operands.filter { value in
            guard let definition = definition(of: value), !isAbsorbed[definition.index], !isOutput[value.index],
                type(value).shape == rootType.shape, type(value).scalar == .float32
            else { return false }
            return isProduct(definition.op) && uses[value.index].allSatisfy { inside.contains($0.index) }
        }
        guard
            let product = candidates.max(by: {
                (definitions[$0.index]?.index ?? 0) < (definitions[$1.index]?.index ?? 0)
            }),
            let definition = definition(of: product), let columns = type(product).shape.last?.constant,
            let tail = Tail(
                chain, root: node, product: product, type: type(product), columns: columns, type, constants),
            let steps = try single(
                definition.index, tail: (tail, graph.ops[root].results[0], graph.ops[root]))
        else { return nil }
        isAbsorbed[definition.index] = true
        return steps
    }

    private func isProduct(_ op: Op) -> Bool {
        switch op.name {
        case "cpu.conv2d": true
        case "cpu.conv_transpose2d":
            type(op.operands[1]).staticShape.map { TransposedConvolution.isTiling(op, $0) } ?? false
        case _ where op.name.hasSuffix("batch_matmul_v1"): weights(of: op) != nil
        default: false
        }
    }

    // MARK: Single ops

    /// The constant right side of a matrix product, and whether it is stored transposed.
    private func weights(of op: Op) -> (value: ValueID, isTransposed: Bool)? {
        func isMatrix(_ value: ValueID) -> Bool {
            guard let shape = type(value).staticShape, shape.count >= 2 else { return false }
            return constants.contains(value) && shape.dropLast(2).allSatisfy { $0 == 1 } && shape.allSatisfy { $0 > 0 }
                && shape.allSatisfy { $0 < 1 << 30 }
        }
        let right = op.operands[1]
        if isMatrix(right) { return (right, false) }
        guard let definition = definition(of: right), definition.op.name == transposeName,
            isMatrix(definition.op.operands[0])
        else { return nil }
        let rank = type(right).rank
        let swapped = Array(0..<rank - 2) + [rank - 1, rank - 2]
        guard definition.op.axes("permutation", rank: rank) == swapped else { return nil }
        return (definition.op.operands[0], true)
    }

    /// Steps for an op by a kernel of this backend; nil if it has none but for the op alone.
    /// - Parameter tail: what follows, the value the step leaves, and the op that makes it.
    private mutating func single(_ index: Int, tail: (Tail, ValueID, Op)?) throws(BackendError) -> [HostStep]? {
        let op = graph.ops[index]
        let (tail, result) = tail.map { ($0.0, $0.1) } ?? (.none, op.results[0])
        switch op.name {
        case "cpu.conv2d":
            let step = try constants.withTensor(op.operands[1]) { (weights) throws(BackendError) in
                var op = op
                op.operands.removeSubrange(1...)
                return try ConvolutionStep.make(
                    op, x: type(op.operands[0]), result: result, resultType: type(result), weights: weights, tail: tail,
                    packing)
            }
            return step.map { [$0] }
        case "cpu.conv_transpose2d":
            let step = try constants.withTensor(op.operands[1]) { (weights) throws(BackendError) -> HostStep? in
                if TransposedConvolution.isTiling(op, weights.shape) {
                    return try TransposedConvolution.tiling(op, weights: weights, result: result, tail: tail)
                }
                return try TransposedConvolution.make(op, weights: weights)
            }
            return (step ?? nil).map { [$0] }
        case "cpu.interpolate": return InterpolateStep.make(op).map { [$0] }
        case "cpu.max_pool2d", "cpu.sum_pool2d": return PoolStep.make(op).map { [$0] }
        case _ where op.name.hasSuffix("batch_matmul_v1"): return try product(index, op, tail, result)
        case _ where op.name.hasPrefix("cpu."):
            guard let step = MovementSteps.make(op, graph) ?? RowSteps.make(op, graph) else {
                throw BackendError(.failed, "no kernel for \(op.name)")
            }
            return [step]
        default: return nil
        }
    }

    private mutating func product(_ index: Int, _ op: Op, _ tail: Tail, _ result: ValueID) throws(BackendError)
        -> [HostStep]?
    {
        let scalar = type(op.operands[0]).scalar
        guard scalar == .float32 || isNarrow(scalar), type(op.operands[0]).rank >= 2, type(op.operands[1]).rank >= 2,
            type(result).rank >= 2
        else { return nil }
        if let weights = weights(of: op) {
            let a = op.operands[0]
            let step = try constants.withTensor(weights.value) { (tensor) throws(BackendError) in
                try ProductStep.byWeights(
                    op, a: a, weights: tensor, isTransposed: weights.isTransposed, scalar: scalar, result: result,
                    tail: tail, packing)
            }
            return step.map { [$0] }
        }
        guard scalar == .float32 else { return nil }
        let rank = type(result).rank
        // A transpose of the result is written at once.
        var (target, permutation) = (result, Array(0..<rank))
        if uses[result.index].count == 1, !isOutput[result.index], !isNeeded[result.index],
            let user = uses[result.index].first,
            graph[user].name == transposeName, !isAbsorbed[user.index],
            let turned = graph[user].axes("permutation", rank: rank), turned.last == rank - 1
        {
            isAbsorbed[user.index] = true
            (target, permutation) = (graph[user].results[0], turned)
        }
        if let attention = attention(index, target, permutation) { return [attention] }
        let a = StridedOperand(op.operands[0], graph, definitions, accepts: Self.hasDenseRows)
        let b = StridedOperand(op.operands[1], graph, definitions) { view in
            view.stride(view.axes.count - 1) != nil && view.stride(view.axes.count - 2) != nil
        }
        guard let a, let b else { return nil }
        return [ProductStep.ofTensors(op, a: a, b: b, result: target, permutation: permutation)]
    }
}
