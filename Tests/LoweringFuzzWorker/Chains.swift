import CoreAIGraph

extension Draft {
    /// A constant that broadcasts over a value of the given shape, in a shape that exporters write.
    mutating func companion(_ shape: [Int]) throws -> ValueID {
        let rank = shape.count
        var choices: [[Int]] = [[], [1], shape]
        if rank == 4 { choices += [[1, shape[1], 1, 1], [shape[1], 1, 1], [1, shape[1], 1, 1], [shape[1], 1, 1]] }
        if rank >= 1 { choices += [[shape[rank - 1]], Array(repeating: 1, count: rank - 1) + [shape[rank - 1]]] }
        choices.append(shape.map { random.chance(50) ? 1 : $0 })
        let chosen = random.pick(choices)
        if random.chance(80) {
            let value = random.pick([0.5, 1, 2, 3, 6, -1, 0.1, 1.0 / 6, 0])
            let isOne = random.chance(20)
            return try constant(chosen) { random, _ in isOne ? value : random.number() * 2 }
        }
        return try input(chosen)
    }

    /// A few pointwise ops after `x`, all of its shape.
    mutating func chain(_ x: ValueID, length: Int) throws -> ValueID {
        var pool = [x]
        for _ in 0..<length {
            let a = random.chance(75) ? pool[pool.count - 1] : random.pick(pool)
            pool.append(try link(a, pool))
        }
        return pool[pool.count - 1]
    }

    private mutating func link(_ a: ValueID, _ pool: [ValueID]) throws -> ValueID {
        switch random.below(30) {
        case 0...6: return try swapped(random.pick(["add", "mul", "sub", "add"]), a, try companion(shape(a)))
        case 7: return try binary("divide", a, try notZero(try companion(shape(a))))
        case 8, 9: return try swapped(random.pick(["add", "mul", "sub"]), a, random.pick(pool))
        case 10: return try swapped(random.pick(["maximum", "minimum"]), a, try companion(shape(a)))
        case 11...13:
            return try unary(random.pick(["relu", "sigmoid", "silu", "tanh", "abs", "erf", "cos", "sin", "round"]), a)
        case 14: return try unary("exp", try clamp(a, -4, 3))
        case 15:
            return try unary(
                random.pick(["sqrt", "rsqrt", "log"]), try binary("add", try unary("abs", a), try scalarConstant(0.5)))
        case 16: return try hardSwish(a)
        case 17: return try binary("mul", a, try spelledSigmoid(a))
        case 18: return try gelu(a)
        case 19: return try geluByTanh(a)
        case 20: return try clamp(a, random.pick([-1, 0, 0, -0.5, 2]), random.pick([1, 6, 0.5, -1]))
        case 21: return try guardedClamp(a)
        case 22:
            let condition =
                random.chance(60)
                ? try binary("greater", a, random.chance(50) ? random.pick(pool) : try scalarConstant(0.1))
                : try equality(a, try scalarConstant(random.pick([0, 1])))
            return try op(
                "broadcasting_where_v1",
                [condition, random.pick(pool), random.chance(50) ? a : try scalarConstant(random.pick([0, -1, 2]))])
        case 23:
            let base = try binary("add", try unary("abs", a), try scalarConstant(0.25))
            return try binary("pow", base, try scalarConstant(random.pick([2, 1, 0.5, 3, 1.5])))
        case 24: return try binary("pow", a, try scalarConstant(random.pick([2, 3, 1])))
        case 25:
            let narrow = try op("primitive.cast_v1", [a], as: random.pick([.float16, .bfloat16, .float32, .float64]))
            return try op("primitive.cast_v1", [narrow], as: scalar(a))
        case 26:
            let one = try binary("greater", a, try scalarConstant(random.number()))
            let other = try equality(random.pick(pool), a)
            let both = try binary(
                random.pick(["logical_and", "logical_or", "logical_xor"]), one,
                random.chance(50) ? other : try unary("not", other))
            return random.chance(50)
                ? try op("primitive.cast_v1", [both], as: scalar(a))
                : try op("broadcasting_where_v1", [both, a, random.pick(pool)])
        case 27:
            return try op(
                "primitive.gelu_v1", [a],
                [NamedAttribute("approximate", .word(random.pick(["none", "tanh", "sigmoid"])))])
        case 28:
            return try binary(
                "divide", try scalarConstant(1),
                try unary("sqrt", try binary("add", try binary("mul", a, a), try scalarConstant(1e-3))))
        default: return try binary("modulo", a, try scalarConstant(random.pick([1, 0.75, 2])))
        }
    }

    /// Of whole numbers, so that the last place does not decide.
    private mutating func equality(_ a: ValueID, _ b: ValueID) throws -> ValueID {
        let whole = try unary("round", try binary("mul", a, try scalarConstant(3)))
        return try binary(
            random.pick(["equal", "not_equal"]), whole, random.chance(30) ? whole : try unary("round", b))
    }

    private mutating func swapped(_ name: String, _ a: ValueID, _ b: ValueID) throws -> ValueID {
        random.chance(70) ? try binary(name, a, b) : try binary(name, b, a)
    }

    private mutating func notZero(_ x: ValueID) throws -> ValueID {
        if constants.contains(x) {
            let power = random.pick([0.5, 2, 3, 8, -4, 6])
            let isOne = random.chance(50)
            return try constant(shape(x)) { random, _ in isOne ? power : random.number() + 2 }
        }
        return try binary("add", try binary("mul", x, x), try scalarConstant(1))
    }

    mutating func clamp(_ a: ValueID, _ low: Double, _ high: Double) throws -> ValueID {
        let (low, high) = (try scalarConstant(low), try scalarConstant(high))
        if random.chance(50) { return try swapped("minimum", try swapped("maximum", a, low), high) }
        return try swapped("maximum", try swapped("minimum", a, high), low)
    }

    private mutating func guardedClamp(_ a: ValueID) throws -> ValueID {
        let isNaN = try op("primitive.not_equal_v1", [a, a])
        return try op("broadcasting_where_v1", [isNaN, a, try clamp(a, 0, 6)])
    }

    private mutating func spelledSigmoid(_ a: ValueID) throws -> ValueID {
        let negated =
            random.chance(50)
            ? try binary("mul", a, try scalarConstant(-1)) : try binary("sub", try scalarConstant(0), a)
        return try binary(
            "divide", try scalarConstant(1), try swapped("add", try unary("exp", negated), try scalarConstant(1)))
    }

    private mutating func hardSwish(_ a: ValueID) throws -> ValueID {
        let gate = try clamp(try swapped("add", a, try scalarConstant(3)), 0, 6)
        switch random.below(4) {
        case 0: return try binary("divide", try swapped("mul", a, gate), try scalarConstant(6))
        case 1: return try swapped("mul", try binary("divide", gate, try scalarConstant(6)), a)
        case 2: return try swapped("mul", try binary("mul", gate, try scalarConstant(1.0 / 6)), a)
        default: return try swapped("mul", try binary("divide", a, try scalarConstant(6)), gate)
        }
    }

    private mutating func gelu(_ a: ValueID) throws -> ValueID {
        let inner =
            random.chance(50)
            ? try swapped("mul", a, try scalarConstant(0.7071067811865476))
            : try binary("divide", a, try scalarConstant(1.4142135381698608))
        let gate = try swapped("add", try unary("erf", inner), try scalarConstant(1))
        if random.chance(50) { return try swapped("mul", try swapped("mul", a, try scalarConstant(0.5)), gate) }
        return try swapped("mul", try swapped("mul", a, gate), try scalarConstant(random.pick([0.5, 0.5, 1])))
    }

    private mutating func geluByTanh(_ a: ValueID) throws -> ValueID {
        let cube =
            random.chance(50)
            ? try binary("pow", a, try scalarConstant(3)) : try binary("mul", try binary("mul", a, a), a)
        let sum = try swapped("add", a, try swapped("mul", cube, try scalarConstant(0.044715)))
        let gate = try swapped(
            "add", try unary("tanh", try swapped("mul", sum, try scalarConstant(0.7978845608028654))),
            try scalarConstant(1))
        return try swapped("mul", try swapped("mul", a, try scalarConstant(0.5)), gate)
    }
}
