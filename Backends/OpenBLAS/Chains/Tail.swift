import CKernels
import CoreAIBackend
import CoreAIGraph
import CoreAIOps

/// What follows a product or a convolution, sorted by who computes it: a scale that goes into the weights, an epilogue that
/// runs in registers, and a chain that runs over each finished block.
struct Tail {
    /// Factors and addends for each column; nil where there are none.
    var scale: [Float]?
    var bias: [Float]?
    var residual: ValueID?
    var activation = COREAI_ACTIVATION_NONE
    var low: Float = 0
    var high: Float = 0
    /// What is left; its first operand is the product itself.
    var rest: ChainKernel?
    /// What a report calls the parts.
    var words: [String] = []

    static let none = Tail()

    /// - Parameters:
    ///   - product: the value the product leaves, of `type` in row-major order with its columns last.
    ///   - columns: how many these are.
    ///   - types: the type of any value.
    /// - Returns: nil if the chain cannot be computed behind the product.
    init?(
        _ chain: PointwiseChain, root: Int, product: ValueID, type: TensorType, columns: Int,
        _ types: (ValueID) -> TensorType, _ constants: HostConstants
    ) {
        guard var current = chain.node(of: product), type.scalar == .float32 else { return nil }
        let needed = chain.needed(for: root)
        var users: [Int: [Int]] = [:]
        for node in needed { for argument in chain.arguments(node) { users[argument, default: []].append(node) } }
        func onlyUser() -> Int? {
            guard current != root, let all = users[current], all.count == 1 else { return nil }
            return all[0]
        }
        /// A constant of one number for each column.
        func vector(_ node: Int) -> [Float]? {
            switch chain.nodes[node] {
            case .constant(let value): return Array(repeating: value, count: columns)
            case .operand(let index):
                let value = chain.operands[index]
                guard let shape = types(value).staticShape, shape.count <= type.rank,
                    let numbers = constants.floats(value, limit: columns)
                else { return nil }
                if numbers.count == 1 { return Array(repeating: numbers[0], count: columns) }
                return numbers.count == columns && shape.last == columns ? numbers : nil
            case .step: return nil
            }
        }
        while let user = onlyUser(), case .step(let code, let a, let b, _) = chain.nodes[user], a != b,
            let other = vector(a == current ? b : a)
        {
            guard apply(code, other, isLeft: a == current) else { break }
            current = user
        }
        if scale != nil || bias != nil { words.append("bias") }
        if let user = onlyUser(), case .step(COREAI_PW_ADD, let a, let b, _) = chain.nodes[user], a != b,
            case .operand(let index) = chain.nodes[a == current ? b : a], chain.operandScalars[index] == .float32,
            types(chain.operands[index]).shape == type.shape, types(chain.operands[index]).rank == type.rank
        {
            residual = chain.operands[index]
            current = user
            words.append("residual")
        }
        // In a column block that is mostly empty, a function costs as much as in a full one: the chain does it cheaper.
        if let user = onlyUser(), columns >= 16 || isClamp(chain, user), let word = activate(chain, user, current) {
            current = user
            words.append(word)
        }
        if current != root {
            guard let kernel = ChainKernel(chain, root: root, result: .float32, given: (current, product)) else {
                return nil
            }
            rest = kernel
            words.append("chain of \(kernel.stepCount)")
        }
    }

    private init() {}

    private func isClamp(_ chain: PointwiseChain, _ node: Int) -> Bool {
        guard case .step(let code, _, _, _) = chain.nodes[node] else { return false }
        return code == COREAI_PW_CLAMP || code == COREAI_PW_MAX
    }

    private mutating func apply(_ code: coreai_pointwise_code, _ other: [Float], isLeft: Bool) -> Bool {
        func combined(_ own: [Float]?, _ initial: Float, _ combine: (Float, Float) -> Float) -> [Float] {
            let own = own ?? Array(repeating: initial, count: other.count)
            return zip(own, other).map(combine)
        }
        switch code {
        case COREAI_PW_ADD: bias = combined(bias, 0, +)
        case COREAI_PW_SUB where isLeft: bias = combined(bias, 0, -)
        case COREAI_PW_MUL, COREAI_PW_DIV:
            guard code == COREAI_PW_MUL || isLeft, other.allSatisfy(\.isFinite) else { return false }
            let factors = code == COREAI_PW_MUL ? other : other.map { 1 / $0 }
            guard factors.allSatisfy(\.isFinite) else { return false }
            scale = scale.map { zip($0, factors).map { $0 * $1 } } ?? factors
            bias = bias.map { zip($0, factors).map { $0 * $1 } }
        default: return false
        }
        return true
    }

    /// Takes the step `user` of the node `x` as the activation; nil if it is none.
    private mutating func activate(_ chain: PointwiseChain, _ user: Int, _ x: Int) -> String? {
        guard case .step(let code, let a, let b, let c) = chain.nodes[user] else { return nil }
        switch code {
        case COREAI_PW_CLAMP:
            guard a == x, let low = chain.constantValue(b), let high = chain.constantValue(c) else { return nil }
            (activation, self.low, self.high) = (COREAI_ACTIVATION_CLAMP, low, high)
            return "clamp"
        case COREAI_PW_MAX:
            guard let low = chain.constantValue(a == x ? b : a), !low.isNaN else { return nil }
            (activation, self.low, high) = (COREAI_ACTIVATION_CLAMP, low, .infinity)
            return low == 0 ? "relu" : "clamp"
        case COREAI_PW_SIGMOID: activation = COREAI_ACTIVATION_SIGMOID
        case COREAI_PW_SILU: activation = COREAI_ACTIVATION_SILU
        case COREAI_PW_TANH: activation = COREAI_ACTIVATION_TANH
        case COREAI_PW_GELU, COREAI_PW_GELU_TANH:
            activation = code == COREAI_PW_GELU ? COREAI_ACTIVATION_GELU : COREAI_ACTIVATION_GELU_TANH
            return "gelu"
        case COREAI_PW_HARD_SWISH: activation = COREAI_ACTIVATION_HARD_SWISH
        default: return nil
        }
        switch code {
        case COREAI_PW_SIGMOID: return "sigmoid"
        case COREAI_PW_SILU: return "silu"
        case COREAI_PW_TANH: return "tanh"
        default: return "hard_swish"
        }
    }

    /// The tensors the tail reads beside the product.
    func operands(beside product: ValueID) -> [ValueID] {
        var values = residual.map { [$0] } ?? []
        for value in rest?.operands.dropFirst() ?? [] where !values.contains(value) { values.append(value) }
        return values
    }
}
