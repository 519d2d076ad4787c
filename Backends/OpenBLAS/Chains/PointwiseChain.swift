import CKernels
import CoreAIGraph
import CoreAIOps

/// Pointwise ops that are computed together: a graph of scalar steps in which equal steps exist once.
///
/// Every number is a float32; a truth value is 1 or 0. What has a 16-bit type is rounded to it after each op, so that fused and
/// unfused agree.
struct PointwiseChain {
    enum Node: Hashable {
        case operand(Int)
        /// The bits of a float: 0 and -0 are two constants.
        case constant(UInt32)
        case step(coreai_pointwise_code, Int, Int, Int)
    }

    private(set) var nodes: [Node] = []
    private var numbers: [Node: Int] = [:]
    /// Nodes that hold truth values.
    private var truths: Set<Int> = []
    /// What `operand(n)` stands for.
    private(set) var operands: [ValueID] = []
    private(set) var operandScalars: [ScalarType] = []

    static func takes(_ scalar: ScalarType) -> Bool {
        [.float32, .float16, .bfloat16, .bool].contains(scalar)
    }

    // MARK: Making nodes

    mutating func operand(_ value: ValueID, _ scalar: ScalarType) -> Int {
        let index = operands.firstIndex(of: value) ?? operands.count
        if index == operands.count {
            operands.append(value)
            operandScalars.append(scalar)
        }
        let node = intern(.operand(index))
        if scalar == .bool { truths.insert(node) }
        return node
    }

    mutating func constant(_ value: Float) -> Int { intern(.constant(value.bitPattern)) }

    /// The node of an op's expression over nodes; nil if the kernels have no such step.
    mutating func add(_ expression: ScalarExpression, over inputs: [Int], result: ScalarType) -> Int? {
        guard let node = node(expression, inputs, result) else { return nil }
        switch result {
        case .float16: return step(COREAI_PW_ROUND_HALF, node)
        case .bfloat16: return step(COREAI_PW_ROUND_BFLOAT, node)
        default: return truths.contains(node) == (result == .bool) ? node : nil
        }
    }

    private mutating func node(_ expression: ScalarExpression, _ inputs: [Int], _ result: ScalarType) -> Int? {
        switch expression {
        case .operand(let index): return inputs[index]
        case .constant(let value): return constant(Float(value))
        case .unary(let operation, let a):
            guard let a = node(a, inputs, result), let code = Self.code(operation) else { return nil }
            guard (operation == .not) == truths.contains(a) else { return nil }
            return step(code, a)
        case .binary(let operation, let a, let b):
            guard let a = node(a, inputs, result), let b = node(b, inputs, result) else { return nil }
            return binary(operation, a, b)
        case .select(let condition, let a, let b):
            guard let condition = node(condition, inputs, result), let a = node(a, inputs, result),
                let b = node(b, inputs, result), truths.contains(condition)
            else { return nil }
            return select(condition, a, b)
        case .castToResult(let a):
            guard let a = node(a, inputs, result) else { return nil }
            if result == .bool { return truths.contains(a) ? a : binary(.notEqual, a, constant(0)) }
            // A truth value is a number already; narrow floats are rounded by `add`.
            guard truths.contains(a) else { return a }
            return step(COREAI_PW_ADD, a, constant(0))
        }
    }

    private mutating func binary(_ operation: ScalarExpression.Binary, _ a: Int, _ b: Int) -> Int? {
        let areTruths = truths.contains(a) && truths.contains(b)
        switch operation {
        case .add where !areTruths: return step(COREAI_PW_ADD, a, b)
        case .subtract where !areTruths: return step(COREAI_PW_SUB, a, b)
        case .multiply where !areTruths: return product(a, b)
        case .divide where !areTruths: return quotient(a, b)
        case .maximum where !areTruths: return step(COREAI_PW_MAX, a, b)
        case .minimum where !areTruths: return minimum(a, b)
        case .power where !areTruths: return power(a, b)
        case .modulo where !areTruths: return step(COREAI_PW_MOD, a, b)
        case .equal: return step(COREAI_PW_EQUAL, a, b)
        case .notEqual: return step(COREAI_PW_NOT_EQUAL, a, b)
        case .greater: return step(COREAI_PW_GREATER, a, b)
        case .logicalAnd where areTruths, .bitwiseAnd where areTruths: return step(COREAI_PW_AND, a, b)
        case .logicalOr where areTruths, .bitwiseOr where areTruths: return step(COREAI_PW_OR, a, b)
        case .logicalXor where areTruths, .bitwiseXor where areTruths: return step(COREAI_PW_NOT_EQUAL, a, b)
        default: return nil
        }
    }

    private static func code(_ operation: ScalarExpression.Unary) -> coreai_pointwise_code? {
        switch operation {
        case .abs: COREAI_PW_ABS
        case .cos: COREAI_PW_COS
        case .erf: COREAI_PW_ERF
        case .exp: COREAI_PW_EXP
        case .log: COREAI_PW_LOG
        case .negate: COREAI_PW_NEG
        case .not: COREAI_PW_NOT
        case .round: COREAI_PW_ROUND
        case .rsqrt: COREAI_PW_RSQRT
        case .sin: COREAI_PW_SIN
        case .sqrt: COREAI_PW_SQRT
        case .tanh: COREAI_PW_TANH
        default: nil
        }
    }

    private static let truthCodes: Set<coreai_pointwise_code> = [
        COREAI_PW_EQUAL, COREAI_PW_NOT_EQUAL, COREAI_PW_GREATER, COREAI_PW_AND, COREAI_PW_OR, COREAI_PW_NOT,
    ]

    mutating func step(_ code: coreai_pointwise_code, _ a: Int, _ b: Int = 0, _ c: Int = 0) -> Int {
        let node = intern(.step(code, a, b, c))
        let isTruth =
            Self.truthCodes.contains(code) || (code == COREAI_PW_SELECT && truths.contains(b) && truths.contains(c))
        if isTruth { truths.insert(node) }
        return node
    }

    private mutating func intern(_ node: Node) -> Int {
        if let number = numbers[node] { return number }
        nodes.append(node)
        numbers[node] = nodes.count - 1
        return nodes.count - 1
    }

    // MARK: Looking at nodes

    func constantValue(_ node: Int) -> Float? {
        if case .constant(let bits) = nodes[node] { Float(bitPattern: bits) } else { nil }
    }

    /// The operands of a step, as many as it has.
    func arguments(_ node: Int) -> [Int] {
        guard case .step(let code, let a, let b, let c) = nodes[node] else { return [] }
        return Array([a, b, c].prefix(Self.arity(code)))
    }

    static func arity(_ code: coreai_pointwise_code) -> Int {
        switch code {
        case COREAI_PW_SELECT, COREAI_PW_FMA, COREAI_PW_CLAMP: 3
        case _ where code.rawValue < COREAI_PW_SELECT.rawValue: 2
        default: 1
        }
    }

    /// The nodes that `root` needs, each after those it needs itself.
    /// - Parameter given: a node whose own needs do not count.
    func needed(for root: Int, given: Int? = nil) -> [Int] {
        var isNeeded = [Bool](repeating: false, count: nodes.count)
        isNeeded[root] = true
        for node in stride(from: root, through: 0, by: -1) where isNeeded[node] && node != given {
            for argument in arguments(node) { isNeeded[argument] = true }
        }
        return isNeeded.indices.filter { isNeeded[$0] }
    }

    /// The node that stands for a tensor.
    func node(of value: ValueID) -> Int? {
        operands.firstIndex(of: value).flatMap { numbers[.operand($0)] }
    }
}

extension coreai_pointwise_code: @retroactive Hashable {}
