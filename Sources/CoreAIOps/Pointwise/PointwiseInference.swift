import CoreAIGraph

/// Types and known values of pointwise ops.
enum PointwiseInference {
    static func infer(_ context: inout InferenceContext, _ expression: ScalarExpression, broadcasts: Bool) throws(GraphError)
        -> [ValueType]
    {
        var types: [TensorType] = []
        for name in context.signature.operands.map(\.name) { types.append(try context.tensor(name)) }
        guard let first = types.first else { throw context.error("has no operands") }
        var shape = first.shape
        for (index, type) in types.dropFirst().enumerated() {
            let what = "operands are \(first) and \(type)"
            shape = broadcasts
                ? try context.broadcast(shape, type.shape) : try context.sameShape(shape, type.shape, "\(what), of operand \(index + 1)")
        }
        let scalars = types.map(\.scalar)
        try check(expression, scalars, context)
        let result = PointwiseProgram.type(of: expression, operands: scalars, result: try context.declaredScalar())
        if result == .int128 || result == .uint128 {
            throw context.error("the result is \(result.name); this runtime has no arithmetic on 128 bits")
        }
        context.resultValues = [values(expression, types, shape, result, context)]
        return [.tensor(TensorType(result, shape))]
    }

    /// Both sides of an arithmetic node must have one type.
    private static func check(_ expression: ScalarExpression, _ scalars: [ScalarType], _ context: InferenceContext)
        throws(GraphError)
    {
        for (index, scalar) in scalars.enumerated() where scalar == .int128 || scalar == .uint128 {
            throw context.error("operand \(index) is \(scalar.name); this runtime has no arithmetic on 128 bits")
        }
        guard case .binary(_, .operand(let a), .operand(let b)) = expression, scalars[a] != scalars[b] else {
            if case .select(_, .operand(let a), .operand(let b)) = expression, scalars[a] != scalars[b] {
                throw context.error("operands are \(scalars[a].name) and \(scalars[b].name), one type is expected")
            }
            return
        }
        throw context.error("operands are \(scalars[a].name) and \(scalars[b].name), one type is expected")
    }

    // MARK: Values

    /// The elements of the result as far as they follow from known operands.
    private static func values(
        _ expression: ScalarExpression, _ types: [TensorType], _ shape: [Dimension], _ scalar: ScalarType,
        _ context: InferenceContext
    ) -> [Dimension]? {
        guard scalar.isInteger || scalar == .bool, scalar.bitWidth <= 64 else { return nil }
        let sizes = shape.compactMap(\.constant)
        guard sizes.count == shape.count else { return nil }
        // No factor beyond 64, so that no product of sizes overflows; a size of 0 leaves nothing to know.
        guard sizes.allSatisfy({ (1...64).contains($0) }) else { return sizes.contains(0) ? [] : nil }
        let count = sizes.reduce(1) { min($0 * $1, 65) }
        guard count <= 64 else { return nil }
        var known: [[Dimension]] = []
        for (index, type) in types.enumerated() {
            guard index < context.operandValues.count, let values = context.operandValues[index] else { return nil }
            guard let own = type.staticShape, let spread = broadcast(values, own, to: sizes) else { return nil }
            known.append(spread)
        }
        var result: [Dimension] = []
        for index in 0..<count {
            let value = evaluate(expression, known.map { $0[index] }, scalar)
            result.append(value.flatMap { fits($0, scalar) ? $0 : nil } ?? .unknown)
        }
        return result.allSatisfy(\.isUnknown) && !result.isEmpty ? nil : result
    }

    private static func broadcast(_ values: [Dimension], _ shape: [Int], to sizes: [Int]) -> [Dimension]? {
        guard values.count == shape.reduce(1, *) else { return nil }
        if shape == sizes { return values }
        let lead = sizes.count - shape.count
        var strides = [Int](repeating: 0, count: sizes.count)
        var step = 1
        for axis in shape.indices.reversed() {
            strides[lead + axis] = shape[axis] == 1 ? 0 : step
            step *= shape[axis]
        }
        var result: [Dimension] = []
        for flat in 0..<sizes.reduce(1, *) {
            var (rest, offset) = (flat, 0)
            for axis in sizes.indices.reversed() {
                offset += rest % sizes[axis] * strides[axis]
                rest /= sizes[axis]
            }
            guard values.indices.contains(offset) else { return nil }
            result.append(values[offset])
        }
        return result
    }

    /// A number beyond its type would wrap: then nothing is known. Expressions are taken to stay inside.
    private static func fits(_ value: Dimension, _ scalar: ScalarType) -> Bool {
        guard let number = value.constant else { return !value.isUnknown }
        if scalar == .bool { return number == 0 || number == 1 }
        let range = IntegerRange(scalar)
        return scalar == .uint64 ? number >= 0 : number >= range.low && number <= range.high
    }

    private static func evaluate(_ expression: ScalarExpression, _ operands: [Dimension], _ scalar: ScalarType) -> Dimension? {
        switch expression {
        case .operand(let index): return operands[index]
        case .constant(let value): return Int(exactly: value).map { Dimension($0) }
        case .castToResult(let a):
            guard let value = evaluate(a, operands, scalar) else { return nil }
            if scalar == .bool { return value.constant.map { $0 == 0 ? 0 : 1 } }
            guard let number = value.constant, scalar != .uint64 else { return value }
            return Dimension(IntegerRange(scalar).saturating(number, isUnsigned64: false))
        case .select(let condition, let a, let b):
            guard let chosen = evaluate(condition, operands, scalar)?.constant else {
                // Where both sides are the same it does not matter which is taken.
                let (left, right) = (evaluate(a, operands, scalar), evaluate(b, operands, scalar))
                return left == right ? left : nil
            }
            return evaluate(chosen != 0 ? a : b, operands, scalar)
        case .unary(.not, let a):
            return evaluate(a, operands, scalar)?.constant.map { $0 == 0 ? 1 : 0 }
        case .unary(.negate, let a):
            return evaluate(a, operands, scalar).map { Dimension(0) - $0 }
        case .unary: return nil
        case .binary(let operation, let left, let right):
            guard let a = evaluate(left, operands, scalar), let b = evaluate(right, operands, scalar) else { return nil }
            return combine(operation, a, b)
        }
    }

    private static func combine(_ operation: ScalarExpression.Binary, _ a: Dimension, _ b: Dimension) -> Dimension? {
        let isNonnegative = a.isCertainlyNonnegative && b.isCertainlyNonnegative
        let divides = b.constant != 0 && !b.isUnknown
        switch operation {
        case .add: return a + b
        case .subtract: return a - b
        case .multiply: return a * b
        case .floorDivide where divides: return a.floorDivided(by: b)
        // Toward zero and downward are one where nothing is negative.
        case .divide where isNonnegative && divides: return a.floorDivided(by: b)
        case .modulo where isNonnegative && divides: return a.modulo(b)
        case .maximum: return .maximum(a, b)
        case .minimum: return .minimum(a, b)
        case .equal: return compare(a, b) { $0 == $1 }
        case .notEqual: return compare(a, b) { $0 != $1 }
        case .greater: return compare(a, b) { $0 > $1 }
        case .logicalAnd, .logicalOr, .logicalXor, .bitwiseAnd, .bitwiseOr, .bitwiseXor:
            guard let x = a.constant, let y = b.constant else { return nil }
            switch operation {
            case .logicalAnd, .bitwiseAnd: return Dimension(x & y)
            case .logicalOr, .bitwiseOr: return Dimension(x | y)
            default: return Dimension(x ^ y)
            }
        default: return nil
        }
    }

    private static func compare(_ a: Dimension, _ b: Dimension, _ body: (Int, Int) -> Bool) -> Dimension? {
        guard let gap = (a - b).constant else { return nil }
        return body(gap, 0) ? 1 : 0
    }
}
