import CoreAIGraph

/// One entry makes an op: its expression is its meaning on every backend.
private struct Entry {
    var name: String
    var summary: String
    var operands: [String]
    var attributes: [String] = []
    var scalars: Set<ScalarType> = []
    var expression: @Sendable (Op) -> ScalarExpression
    var tolerance = Tolerance.exact
    var examples: [Example]
    /// Whether `broadcasting_<name>` exists, the same on operands of different shapes.
    var hasBroadcastingForm = false
}

let pointwiseDefinitions: [OpDefinition] =
    (unaryEntries + activationEntries + binaryEntries + comparisonEntries + conversionEntries).flatMap(definitions)

private func definitions(_ entry: Entry) -> [OpDefinition] {
    let plain = definition(entry, name: entry.name, broadcasts: false, examples: entry.examples)
    guard entry.hasBroadcastingForm, let stem = entry.name.split(separator: ".").last else { return [plain] }
    return [
        plain,
        definition(
            entry, name: "broadcasting_\(stem)", broadcasts: true, examples: entry.examples.compactMap(broadcastExample)
        ),
    ]
}

private func definition(_ entry: Entry, name: String, broadcasts: Bool, examples: [Example]) -> OpDefinition {
    let expression = entry.expression
    return OpDefinition(
        name, summary: entry.summary + (broadcasts ? " Operands are broadcast to one shape." : ""),
        signature: Signature(
            entry.operands.map { name in
                .data(name, name == "condition" ? [.bool] : entry.scalars)
            }, attributes: entry.attributes, broadcasts: broadcasts),
        form: .pointwise(expression),
        inferTypes: { (context) throws(GraphError) in
            try PointwiseInference.infer(&context, expression(context.op), broadcasts: broadcasts)
        },
        reference: { (context) throws(KernelError) in
            let program = PointwiseProgram(
                expression(context.op), operands: context.operands.map(\.scalar), result: context.results[0].scalar)
            try program.run(context.operands, context.results[0])
        },
        tolerance: entry.tolerance, examples: examples)
}

/// The same numbers with the last operand's first element repeated over the others' shape.
private func broadcastExample(_ example: Example) -> Example? {
    guard example.operands.count > 1, let last = example.operands.last, let first = example.operands.first,
        let result = example.results.first, last.scalar.complexPart == nil
    else { return nil }
    let same = last.values.indices.filter { last.values[$0] == last.values[0] }
    guard !same.isEmpty else { return nil }
    func keep(_ tensor: Example.Tensor) -> Example.Tensor {
        Example.Tensor(tensor.scalar, [1, same.count], same.map { tensor.values[$0] })
    }
    guard first.scalar.complexPart == nil, result.scalar.complexPart == nil else { return nil }
    return Example(
        example.operands.dropLast().map(keep) + [Example.Tensor(last.scalar, [1], [last.values[0]])],
        results: [keep(result)])
}

// MARK: Scalars

private let integers = Set(ScalarType.allCases.filter { $0.isInteger && $0.bitWidth >= 8 && $0.bitWidth <= 64 })
private let floats: Set<ScalarType> = [.float16, .bfloat16, .float32, .float64, .float8e4m3fn, .float8e5m2]
private let complexes: Set<ScalarType> = [.cfloat16, .cfloat32, .cfloat64]
private let numbers = integers.union(floats)

private func f32(_ values: Double...) -> Example.Tensor { Example.Tensor(.float32, [values.count], values) }
private func tensor(_ scalar: ScalarType, _ values: Double...) -> Example.Tensor {
    Example.Tensor(scalar, [scalar.isComplex ? values.count / 2 : values.count], values)
}

// MARK: One operand

private func unary(
    _ name: String, _ operation: ScalarExpression.Unary, _ summary: String, tolerance: Tolerance = .ulps(4),
    _ examples: [Example]
) -> Entry {
    unary(name, operation, summary, floats, tolerance: tolerance, examples)
}

private func unary(
    _ name: String, _ operation: ScalarExpression.Unary, _ summary: String, _ scalars: Set<ScalarType>,
    tolerance: Tolerance = .ulps(4), _ examples: [Example]
) -> Entry {
    Entry(
        name: "primitive.\(name)_v1", summary: summary, operands: ["x"], scalars: scalars,
        expression: { _ in .unary(operation, .x) }, tolerance: tolerance, examples: examples)
}

private func example(_ input: Example.Tensor, _ output: Example.Tensor) -> Example {
    Example([input], results: [output])
}

private let unaryEntries: [Entry] = [
    unary(
        "abs", .abs, "The magnitude; the least integer stays as it is.", numbers, tolerance: .exact,
        [
            example(f32(-1.5, -0.0, -.infinity, .nan), f32(1.5, 0, .infinity, .nan)),
            example(tensor(.int8, -128, -3, 4), tensor(.int8, -128, 3, 4)),
        ]),
    unary("acos", .acos, "The arc cosine; NaN outside [-1, 1].", [example(f32(1, -1, 2), f32(0, 3.14159265, .nan))]),
    unary(
        "acosh", .acosh, "The inverse hyperbolic cosine; NaN below 1.",
        [example(f32(1, 0.5, 2), f32(0, .nan, 1.31695790))]),
    unary("asin", .asin, "The arc sine; NaN outside [-1, 1].", [example(f32(0, 1, -2), f32(0, 1.57079633, .nan))]),
    unary("asinh", .asinh, "The inverse hyperbolic sine.", [example(f32(0, -1), f32(0, -0.881373587))]),
    unary("atan", .atan, "The arc tangent.", [example(f32(1, -.infinity), f32(0.785398163, -1.57079633))]),
    unary(
        "atanh", .atanh, "The inverse hyperbolic tangent; NaN beyond 1.",
        [
            example(f32(0.5, 1, -1, 1.5), f32(0.549306144, .infinity, -.infinity, .nan))
        ]),
    unary(
        "cos", .cos, "The cosine; NaN at infinity.", floats.union(complexes),
        [
            example(f32(0, 3.14159265, .infinity), f32(1, -1, .nan)),
            example(tensor(.cfloat32, 0, 1), tensor(.cfloat32, 1.54308063, 0)),
        ]),
    unary("cosh", .cosh, "The hyperbolic cosine.", floats.union(complexes), [example(f32(0, -1), f32(1, 1.54308063))]),
    unary("erf", .erf, "The error function.", [example(f32(0, .infinity, -1), f32(0, 1, -0.842700793))]),
    unary(
        "exp", .exp, "The exponential.", floats.union(complexes),
        [
            example(f32(0, 1, -.infinity, 100), f32(1, 2.71828183, 0, .infinity)),
            example(tensor(.float16, 1, 12), tensor(.float16, 2.71875, .infinity)),
        ]),
    unary(
        "log", .log, "The natural logarithm; -infinity at 0, NaN below.",
        [
            example(f32(1, 2.71828183, -0.0, -1), f32(0, 1, -.infinity, .nan))
        ]),
    unary(
        "sin", .sin, "The sine; NaN at infinity.", floats.union(complexes),
        [
            example(f32(0, 1.57079633, -.infinity), f32(0, 1, .nan))
        ]),
    unary("sinh", .sinh, "The hyperbolic sine.", floats.union(complexes), [example(f32(0, 1), f32(0, 1.17520119))]),
    unary(
        "sqrt", .sqrt, "The square root; -0 stays, NaN below.", tolerance: .exact,
        [
            example(f32(4, -0.0, -1, .infinity), f32(2, -0.0, .nan, .infinity))
        ]),
    unary(
        "rsqrt", .rsqrt, "One over the square root.", tolerance: .ulps(2),
        [
            example(f32(4, 0, -0.0, .infinity), f32(0.5, .infinity, -.infinity, 0))
        ]),
    unary(
        "tan", .tan, "The tangent; NaN at infinity.", floats.union(complexes),
        [
            example(f32(0, 0.785398163, .infinity), f32(0, 1, .nan))
        ]),
    unary("tanh", .tanh, "The hyperbolic tangent.", [example(f32(0, .infinity, -0.5), f32(0, 1, -0.462117157))]),
    unary(
        "round", .round, "The nearest whole number, ties to even.", tolerance: .exact,
        [
            example(f32(0.5, 1.5, 2.5, -2.5, -0.4), f32(0, 2, 2, -2, -0.0))
        ]),
    unary(
        "not", .not, "Logical negation.", [.bool], tolerance: .exact,
        [example(tensor(.bool, 0, 1), tensor(.bool, 1, 0))]),
]

// MARK: Activations

private let activationEntries: [Entry] = [
    Entry(
        name: "relu_v1", summary: "max(x, 0); NaN and -0 stay.", operands: ["x"], scalars: numbers,
        expression: { _ in .binary(.maximum, .x, 0) },
        examples: [
            example(f32(-1, 2, .nan, -.infinity), f32(0, 2, .nan, 0)),
            example(tensor(.int8, -5, 5), tensor(.int8, 0, 5)),
        ]),
    Entry(
        name: "sigmoid_v1", summary: "1 / (1 + exp(-x)).", operands: ["x"], scalars: floats.union(complexes),
        expression: { _ in .sigmoid(.x) }, tolerance: .ulps(8),
        examples: [example(f32(0, .infinity, -.infinity, 1), f32(0.5, 1, 0, 0.731058579))]),
    Entry(
        name: "silu_v1", summary: "x / (1 + exp(-x)); NaN at -infinity.", operands: ["x"],
        scalars: floats.union(complexes),
        expression: { _ in .x * .sigmoid(.x) }, tolerance: .ulps(8),
        examples: [example(f32(0, 1, -.infinity), f32(0, 0.731058579, .nan))]),
    Entry(
        name: "primitive.gelu_v1",
        summary:
            "x times the normal distribution of x: exact, or by tanh or sigmoid as `approximate` says; NaN at -infinity.",
        operands: ["x"], attributes: ["approximate"], scalars: floats, expression: gelu, tolerance: .ulps(16),
        examples: [
            Example(
                [f32(0, 1, -1)], attributes: [NamedAttribute("approximate", .word("none"))],
                results: [f32(0, 0.841344746, -0.158655254)]),
            Example(
                [f32(1, -.infinity)], attributes: [NamedAttribute("approximate", .word("tanh"))],
                results: [f32(0.841191991, .nan)]),
            Example(
                [f32(1)], attributes: [NamedAttribute("approximate", .word("sigmoid"))], results: [f32(0.845795765)]),
        ]),
]

@Sendable private func gelu(_ op: Op) -> ScalarExpression {
    let x = ScalarExpression.x
    switch op[attribute: "approximate"] {
    case .word("tanh"):
        return 0.5 * x * (1 + .unary(.tanh, 0.797_884_560_802_865_4 * (x + 0.044715 * x * x * x)))
    case .word("sigmoid"): return x * .sigmoid(1.702 * x)
    default: return 0.5 * x * (1 + .unary(.erf, x * 0.707_106_781_186_547_5))
    }
}

// MARK: Two operands

private func binary(
    _ name: String, _ operation: ScalarExpression.Binary, _ summary: String, tolerance: Tolerance = .exact,
    _ examples: [Example]
) -> Entry {
    binary(name, operation, summary, numbers, tolerance: tolerance, examples)
}

private func binary(
    _ name: String, _ operation: ScalarExpression.Binary, _ summary: String, _ scalars: Set<ScalarType>,
    tolerance: Tolerance = .exact, _ examples: [Example]
) -> Entry {
    Entry(
        name: "primitive.\(name)_v1", summary: summary, operands: ["x", "y"], scalars: scalars,
        expression: { _ in .binary(operation, .x, .y) }, tolerance: tolerance, examples: examples,
        hasBroadcastingForm: true)
}

private func example(_ x: Example.Tensor, _ y: Example.Tensor, _ z: Example.Tensor) -> Example {
    Example([x, y], results: [z])
}

private let arithmetic = numbers.union(complexes).union([.bool])

private let binaryEntries: [Entry] = [
    binary(
        "add", .add, "The sum; integers wrap, booleans join by or.", arithmetic,
        [
            example(f32(1, .infinity, .infinity), f32(2, 1, -.infinity), f32(3, .infinity, .nan)),
            example(tensor(.int8, 100, -128), tensor(.int8, 100, -1), tensor(.int8, -56, 127)),
            example(tensor(.uint8, 200), tensor(.uint8, 100), tensor(.uint8, 44)),
            example(tensor(.bool, 0, 1, 1), tensor(.bool, 0, 0, 1), tensor(.bool, 0, 1, 1)),
            // 16-bit floats are added in 32 bits and rounded once, to even.
            example(tensor(.float16, 2048, 2048), tensor(.float16, 1, 3), tensor(.float16, 2048, 2052)),
            example(tensor(.bfloat16, 256), tensor(.bfloat16, 1), tensor(.bfloat16, 256)),
            example(tensor(.cfloat32, 1, 2), tensor(.cfloat32, 3, 4), tensor(.cfloat32, 4, 6)),
        ]),
    binary(
        "sub", .subtract, "The difference; integers wrap.", arithmetic.subtracting([.bool]),
        [
            example(f32(1, 0), f32(2, 0), f32(-1, 0)),
            example(tensor(.uint8, 1), tensor(.uint8, 2), tensor(.uint8, 255)),
        ]),
    binary(
        "mul", .multiply, "The product; integers wrap, booleans join by and.", arithmetic,
        [
            example(f32(2, 0), f32(-3, .infinity), f32(-6, .nan)),
            example(tensor(.int16, 300), tensor(.int16, 300), tensor(.int16, 24464)),
            example(tensor(.cfloat32, 1, 2), tensor(.cfloat32, 3, 4), tensor(.cfloat32, -5, 10)),
        ]),
    binary(
        "divide", .divide, "The quotient; of integers toward zero.", arithmetic.subtracting([.bool]),
        [
            example(f32(1, -1, 0, 7), f32(0, 0, 0, 2), f32(.infinity, -.infinity, .nan, 3.5)),
            example(
                tensor(.int32, -7, 7, -2_147_483_648), tensor(.int32, 2, -2, -1), tensor(.int32, -3, -3, -2_147_483_648)
            ),
        ]),
    binary(
        "floor_divide", .floorDivide, "The quotient rounded down.",
        [
            example(f32(-7.5, 1, -1), f32(2, 0, .infinity), f32(-4, .infinity, -0.0)),
            example(tensor(.int32, -7, 7, -6), tensor(.int32, 2, -2, 2), tensor(.int32, -4, -4, -3)),
        ]),
    binary(
        "modulo", .modulo, "The remainder, with the sign of the dividend.",
        [
            example(f32(-7, 7, 5.5, 1), f32(3, -3, .infinity, 0), f32(-1, 1, 5.5, .nan)),
            example(tensor(.int8, -7, 7), tensor(.int8, 3, -3), tensor(.int8, -1, 1)),
        ]),
    binary(
        "maximum", .maximum, "The larger; NaN in either operand wins.",
        [
            example(f32(1, .nan, 1), f32(2, 1, .nan), f32(2, .nan, .nan)),
            example(tensor(.uint32, 4_294_967_295), tensor(.uint32, 1), tensor(.uint32, 4_294_967_295)),
        ]),
    binary(
        "minimum", .minimum, "The smaller; NaN in either operand wins.",
        [
            example(f32(1, .nan, 1), f32(2, 1, .nan), f32(1, .nan, .nan)),
            example(tensor(.int8, -1), tensor(.int8, 1), tensor(.int8, -1)),
        ]),
    binary(
        "pow", .power, "The power; integers wrap and a negative exponent gives 0.", arithmetic.subtracting([.bool]),
        tolerance: .ulps(4),
        [
            example(f32(2, .nan, 1, -8, 0), f32(10, 0, .nan, 1.0 / 3, -1), f32(1024, 1, 1, .nan, .infinity)),
            example(tensor(.int32, 2, 0, 1, 3), tensor(.int32, 31, 0, -1, 4), tensor(.int32, -2_147_483_648, 1, 0, 81)),
        ]),
    binary(
        "bitwise_and", .bitwiseAnd, "Bit by bit, and.", integers.union([.bool]),
        [
            example(tensor(.uint8, 12), tensor(.uint8, 10), tensor(.uint8, 8))
        ]),
    binary(
        "bitwise_or", .bitwiseOr, "Bit by bit, or.", integers.union([.bool]),
        [
            example(tensor(.int8, -128), tensor(.int8, 1), tensor(.int8, -127))
        ]),
    binary(
        "bitwise_xor", .bitwiseXor, "Bit by bit, exclusive or.", integers.union([.bool]),
        [
            example(tensor(.uint8, 12), tensor(.uint8, 10), tensor(.uint8, 6))
        ]),
    binary(
        "logical_and", .logicalAnd, "Logical and.", [.bool],
        [
            example(tensor(.bool, 0, 1, 1), tensor(.bool, 1, 0, 1), tensor(.bool, 0, 0, 1))
        ]),
    binary(
        "logical_or", .logicalOr, "Logical or.", [.bool],
        [
            example(tensor(.bool, 0, 1, 0), tensor(.bool, 1, 0, 0), tensor(.bool, 1, 1, 0))
        ]),
    binary(
        "logical_xor", .logicalXor, "Logical exclusive or.", [.bool],
        [
            example(tensor(.bool, 0, 1, 1), tensor(.bool, 1, 0, 1), tensor(.bool, 1, 1, 0))
        ]),
]

private let comparisonEntries: [Entry] = [
    binary(
        "equal", .equal, "Whether the operands are equal; NaN equals nothing.", [],
        [
            example(f32(1, .nan, 0), f32(1, .nan, -0.0), tensor(.bool, 1, 0, 1)),
            example(tensor(.cfloat32, 1, 2), tensor(.cfloat32, 1, 3), tensor(.bool, 0)),
        ]),
    binary(
        "not_equal", .notEqual, "Whether the operands differ; NaN differs from everything.", [],
        [
            example(f32(1, .nan, 0), f32(1, .nan, -0.0), tensor(.bool, 0, 1, 0))
        ]),
    binary(
        "greater", .greater, "Whether the first is greater; false with NaN.", numbers.union([.bool]),
        [
            example(f32(2, 1, .nan), f32(1, 1, 1), tensor(.bool, 1, 0, 0)),
            example(tensor(.uint64, 9_223_372_036_854_775_808), tensor(.uint64, 1), tensor(.bool, 1)),
        ]),
    Entry(
        name: "primitive.where_v1", summary: "The second operand where the condition holds, else the third.",
        operands: ["condition", "x", "y"], expression: { _ in .select(.operand(0), .operand(1), .operand(2)) },
        examples: [
            Example([tensor(.bool, 1, 0), f32(1, .nan), f32(2, 2)], results: [f32(1, 2)]),
            Example([tensor(.bool, 0), tensor(.int4, 3), tensor(.int4, -4)], results: [tensor(.int4, -4)]),
        ], hasBroadcastingForm: true),
]

// MARK: Conversions

private let conversionEntries: [Entry] = [
    Entry(
        name: "primitive.cast_v1",
        summary:
            "Converts to the result's type: to integers toward zero and saturating with NaN to 0, to floats to nearest even.",
        operands: ["x"], expression: { _ in .castToResult(.x) },
        examples: [
            example(f32(2.9, -2.9, 300, .nan, -.infinity), tensor(.uint8, 2, 0, 255, 0, 0)),
            example(f32(1e20, -1e20), tensor(.int32, 2_147_483_647, -2_147_483_648)),
            example(tensor(.int32, 300, -1, 128), tensor(.int8, 127, -1, 127)),
            example(f32(0, .nan, -2), tensor(.bool, 0, 1, 1)), example(tensor(.bool, 0, 1), f32(0, 1)),
            example(f32(70000, 2049), tensor(.float16, .infinity, 2048)),
            example(f32(500, 448, 0.3), tensor(.float8e4m3fn, .nan, 448, 0.3125)),
            example(f32(9, -0.3, .nan), tensor(.float4e2m1fn, 6, -0.5, 0)),
            example(f32(9, -9), tensor(.int4, 7, -8)), example(tensor(.cfloat32, 1, 2), f32(1)),
            example(f32(3), tensor(.cfloat32, 3, 0)),
        ]),
    Entry(
        name: "primitive.real_part_v1", summary: "The real part.", operands: ["x"], scalars: complexes,
        expression: { _ in .unary(.realPart, .x) }, examples: [example(tensor(.cfloat32, 1, 2), f32(1))]),
    Entry(
        name: "primitive.imaginary_part_v1", summary: "The imaginary part.", operands: ["x"], scalars: complexes,
        expression: { _ in .unary(.imaginaryPart, .x) }, examples: [example(tensor(.cfloat32, 1, 2), f32(2))]),
    Entry(
        name: "primitive.create_complex_v1", summary: "A complex number of a real and an imaginary part.",
        operands: ["real", "imaginary"], scalars: [.float16, .float32, .float64],
        expression: { _ in .binary(.complex, .x, .y) },
        examples: [Example([f32(1), f32(2)], results: [tensor(.cfloat32, 1, 2)])]),
    Entry(
        name: "ax.copy_with_constraints_v1", summary: "The same values in a type with a layout constraint.",
        operands: ["x"],
        expression: { _ in .x }, examples: [example(f32(1), f32(1))]),
    Entry(
        name: "ax.copy_discarding_constraints_v1", summary: "The same values in a type without layout constraint.",
        operands: ["x"], expression: { _ in .x }, examples: [example(f32(1), f32(1))]),
]
