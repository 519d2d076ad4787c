import CKernels

/// Ways to write a function that has a kernel of its own, recognized while a chain is made.
extension PointwiseChain {
    /// `min(max(x, low), high)` is a clamp. Of equal numbers the first is kept, which is seen where one is 0 and the other -0:
    /// only a bound that is not 0 may stand first.
    mutating func minimum(_ a: Int, _ b: Int) -> Int {
        for (inner, high) in [(a, b), (b, a)] {
            guard let top = constantValue(high), high == b || top != 0,
                case .step(COREAI_PW_MAX, let x, let y, _) = nodes[inner]
            else { continue }
            for (value, low) in [(x, y), (y, x)] {
                guard let bottom = constantValue(low), bottom <= top, low == y || bottom != 0 else { continue }
                return step(COREAI_PW_CLAMP, value, low, high)
            }
        }
        return step(COREAI_PW_MIN, a, b)
    }

    /// `x is not x ? x : f(x)`, as exporters guard a clamp, is `f(x)` where f keeps NaN.
    mutating func select(_ condition: Int, _ a: Int, _ b: Int) -> Int {
        if case .step(COREAI_PW_NOT_EQUAL, let x, let y, _) = nodes[condition], x == y, a == x, keepsNaN(b, of: x) {
            return b
        }
        return step(COREAI_PW_SELECT, condition, a, b)
    }

    /// - Parameter depth: how far to look; guards are short.
    private func keepsNaN(_ node: Int, of x: Int, depth: Int = 8) -> Bool {
        if node == x { return true }
        guard depth > 0, case .step(let code, let a, let b, _) = nodes[node] else { return false }
        switch code {
        case COREAI_PW_ADD, COREAI_PW_SUB, COREAI_PW_MUL, COREAI_PW_DIV, COREAI_PW_MIN, COREAI_PW_MAX:
            return keepsNaN(a, of: x, depth: depth - 1) || keepsNaN(b, of: x, depth: depth - 1)
        case COREAI_PW_CLAMP, COREAI_PW_NEG, COREAI_PW_ABS, COREAI_PW_HARD_SWISH:
            return keepsNaN(a, of: x, depth: depth - 1)
        default: return false
        }
    }

    mutating func quotient(_ a: Int, _ b: Int) -> Int {
        if let one = constantValue(a), one == 1 {
            // 1 / (1 + exp(-x))
            if let e = addend(b, of: 1), case .step(COREAI_PW_EXP, let negated, _, _) = nodes[e],
                case .step(COREAI_PW_NEG, let x, _, _) = nodes[negated]
            {
                return step(COREAI_PW_SIGMOID, x)
            }
            if case .step(COREAI_PW_SQRT, let x, _, _) = nodes[b] { return step(COREAI_PW_RSQRT, x) }
        }
        if let divisor = constantValue(b), divisor == 6, let x = hardSwish(factors(a), scale: 1 / 6) {
            return step(COREAI_PW_HARD_SWISH, x)
        }
        // A power of two has an exact inverse.
        if let divisor = constantValue(b), divisor.isNormal, divisor.significandBitPattern == 0,
            (1 / divisor).isNormal
        {
            return product(a, constant(1 / divisor))
        }
        return step(COREAI_PW_DIV, a, b)
    }

    mutating func power(_ a: Int, _ b: Int) -> Int {
        switch constantValue(b) {
        case 2: return product(a, a)
        case 1: return a
        default: return step(COREAI_PW_POW, a, b)
        }
    }

    mutating func product(_ a: Int, _ b: Int) -> Int {
        let factors = factors(a) + factors(b)
        let scale = factors.reduce(Float(1)) { $0 * (constantValue($1) ?? 1) }
        let others = factors.filter { constantValue($0) == nil }
        if others.count == 2 {
            for (x, f) in [(others[0], others[1]), (others[1], others[0])] {
                if scale == 1, nodes[f] == .step(COREAI_PW_SIGMOID, x, 0, 0) { return step(COREAI_PW_SILU, x) }
                if scale == 0.5, isOnePlusErrorFunction(f, of: x) { return step(COREAI_PW_GELU, x) }
                if scale == 0.5, isOnePlusTanh(f, of: x) { return step(COREAI_PW_GELU_TANH, x) }
            }
            if let x = hardSwish(factors, scale: 1) { return step(COREAI_PW_HARD_SWISH, x) }
        }
        return step(COREAI_PW_MUL, a, b)
    }

    /// The x of `x * clamp(x + 3, 0, 6) / 6`, given as factors and a scale beside them.
    private func hardSwish(_ factors: [Int], scale: Float) -> Int? {
        let scale = factors.reduce(scale) { $0 * (constantValue($1) ?? 1) }
        let others = factors.filter { constantValue($0) == nil }
        guard others.count == 2, isNear(scale * 6, 1) else { return nil }
        for (x, f) in [(others[0], others[1]), (others[1], others[0])] {
            if case .step(COREAI_PW_CLAMP, let sum, let low, let high) = nodes[f], constantValue(low) == 0,
                constantValue(high) == 6, addend(sum, of: 3) == x
            {
                return x
            }
        }
        return nil
    }

    /// The factors of a product, as written.
    private func factors(_ node: Int, depth: Int = 3) -> [Int] {
        guard depth > 0, case .step(COREAI_PW_MUL, let a, let b, _) = nodes[node] else { return [node] }
        return factors(a, depth: depth - 1) + factors(b, depth: depth - 1)
    }

    /// What is added to the constant `value`, if the node is such a sum.
    private func addend(_ node: Int, of value: Float) -> Int? {
        guard case .step(COREAI_PW_ADD, let a, let b, _) = nodes[node] else { return nil }
        if constantValue(a) == value { return b }
        return constantValue(b) == value ? a : nil
    }

    private func isNear(_ a: Float, _ b: Float) -> Bool { abs(a - b) <= 1e-5 * abs(b) }

    /// 1 + erf(x / sqrt 2)
    private func isOnePlusErrorFunction(_ node: Int, of x: Int) -> Bool {
        guard let f = addend(node, of: 1), case .step(COREAI_PW_ERF, let inner, _, _) = nodes[f] else { return false }
        switch nodes[inner] {
        case .step(COREAI_PW_MUL, x, let c, _), .step(COREAI_PW_MUL, let c, x, _):
            return constantValue(c).map { isNear($0, 0.707_106_77) } ?? false
        case .step(COREAI_PW_DIV, x, let c, _): return constantValue(c).map { isNear($0, 1.414_213_5) } ?? false
        default: return false
        }
    }

    /// 1 + tanh(0.79788 * (x + 0.044715 * x^3))
    private func isOnePlusTanh(_ node: Int, of x: Int) -> Bool {
        guard let f = addend(node, of: 1), case .step(COREAI_PW_TANH, let inner, _, _) = nodes[f],
            case .step(COREAI_PW_MUL, let a, let b, _) = nodes[inner]
        else { return false }
        let (c, sum) = constantValue(a) == nil ? (b, a) : (a, b)
        guard constantValue(c).map({ isNear($0, 0.797_884_56) }) == true,
            case .step(COREAI_PW_ADD, let p, let q, _) = nodes[sum], p == x || q == x
        else { return false }
        let cubic = factors(p == x ? q : p).flatMap { factor -> [Int] in
            if case .step(COREAI_PW_POW, let base, let exponent, _) = nodes[factor], constantValue(exponent) == 3 {
                return [base, base, base]
            }
            return [factor]
        }
        let scale = cubic.reduce(Float(1)) { $0 * (constantValue($1) ?? 1) }
        let others = cubic.filter { constantValue($0) == nil }
        return isNear(scale, 0.044715) && others.count == 3 && others.allSatisfy { $0 == x }
    }
}
