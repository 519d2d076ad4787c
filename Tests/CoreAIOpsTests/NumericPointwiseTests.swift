import CoreAIGraph
import CoreAIOps
import Testing

private let pointwiseNames: [String] = OpTable.definitions.compactMap {
    if case .pointwise = $0.form { $0.name } else { nil }
}

/// What element-wise ops promise about numbers, on values chosen by hand.
@Suite struct NumericPointwiseTests {
    private func apply(
        _ name: String, _ operands: [Example.Tensor], to scalar: ScalarType, _ attributes: [NamedAttribute] = []
    ) throws -> OwnedTensor {
        let definition = try #require(OpTable[name])
        let owned = operands.map { OwnedTensor($0) }
        let declared = ValueType.tensor(TensorType(scalar, (operands.first?.shape ?? []).map { Dimension($0) }))
        let results = try withExtendedLifetime(owned) {
            try runReference(
                Op(name, attributes: attributes), definition: definition, operands: owned.map(\.tensor), declared: [declared])
        }
        return try #require(results.first)
    }

    private func row(_ scalar: ScalarType, _ values: [Double]) -> Example.Tensor {
        Example.Tensor(scalar, [values.count], values)
    }

    /// Examples with 8- and 4-bit floats are compared as codes below.
    @Test(arguments: pointwiseNames) func examplesComeOutAsStated(_ name: String) throws {
        let definition = try #require(OpTable[name])
        let small: Set<ScalarType> = [.float8e5m2, .float8e4m3fn, .float8e8m0fn, .float4e2m1fn]
        for (number, example) in definition.examples.enumerated() {
            guard (example.operands + example.results).allSatisfy({ !small.contains($0.scalar) }) else { continue }
            let result = try #require(try run(example, of: definition).first)
            let expected = try #require(example.results.first)
            #expect(result.tensor.scalar == expected.scalar && result.tensor.shape == expected.shape, "example \(number)")
            for (found, wanted) in zip(result.numbers, OwnedTensor(expected).numbers) {
                let isClose = abs(found - wanted) <= 4e-6 * max(abs(wanted), 1)
                let isExact = found == wanted && found.sign == wanted.sign
                let agrees = definition.tolerance == .exact ? isExact : found == wanted || isClose
                #expect(agrees || (found.isNaN && wanted.isNaN), "example \(number): \(found), expected \(wanted)")
            }
        }
    }

    @Test func wideIntegersAreRoundedOnceOnTheWayToFloat32() throws {
        let number = (1 << 60) + (1 << 36) + 1  // just above the middle of two neighbours
        let operand = OwnedTensor(.int64, [2])
        operand.tensor.pointer(as: Int.self)[0] = number
        operand.tensor.pointer(as: Int.self)[1] = -number
        let result = try withExtendedLifetime(operand) {
            try runReference(
                Op("primitive.cast_v1"), operands: [operand.tensor], declared: [.tensor(TensorType(.float32, [2]))])
        }
        #expect(result[0].numbers == [0x1.000002p60, -0x1.000002p60])
    }

    @Test func unsignedNumbersStayPositiveAsComplexOnes() throws {
        let result = try apply("primitive.cast_v1", [row(.uint64, [0x1p63])], to: .cfloat32)
        #expect(result.numbers == [0x1p63, 0])
    }

    @Test func castsRefuseTypesWithoutArithmetic() {
        for scalar in [ScalarType.int128, .uint128] {
            #expect(throws: GraphError.self) { try apply("primitive.cast_v1", [row(.int32, [1])], to: scalar) }
        }
    }

    @Test func castsToSmallFloatsGiveTheseCodes() throws {
        let cases: [(ScalarType, [Double], [UInt8])] = [
            (.float8e4m3fn, [1, 448, 464, 500, .infinity, -0.0], [0x38, 0x7e, 0x7e, 0x7f, 0x7f, 0x80]),
            (.float8e5m2, [1, 57344, 1e9, -.infinity], [0x3c, 0x7b, 0x7c, 0xfc]),
            (.float8e8m0fn, [1, 2, 0, -3, .nan], [127, 128, 0, 0, 255]),
            (.float4e2m1fn, [6, 9, -9, 0.5, .nan], [7, 7, 15, 1, 0]),
        ]
        for (scalar, values, codes) in cases {
            let result = try apply("primitive.cast_v1", [row(.float32, values)], to: scalar)
            let found = withExtendedLifetime(result) {
                (0..<codes.count).map { result.tensor.pointer(as: UInt8.self)[$0] }
            }
            for index in codes.indices {
                // A NaN of either sign is a NaN.
                let isNaN = scalar == .float8e4m3fn && codes[index] == 0x7f && found[index] & 0x7f == 0x7f
                #expect(found[index] == codes[index] || isNaN, "\(values[index]) to \(scalar): \(found[index])")
            }
        }
    }

    @Test func signedZerosAndInfinitiesOfFloorDivide() throws {
        let x = row(.float32, [-1, 1, -7.5, 6, -0.0, .infinity])
        let y = row(.float32, [.infinity, -.infinity, 2, 0.1, 3, 2])
        let z = try apply("primitive.floor_divide_v1", [x, y], to: .float32).numbers
        #expect(Array(z.prefix(5)) == [0, 0, -4, 60, 0])
        #expect(z[0].sign == .minus && z[1].sign == .minus && z[4].sign == .minus)
        #expect(!z[5].isFinite)
    }

    @Test func theFirstOfTwoZerosWins() throws {
        for name in ["primitive.maximum_v1", "primitive.minimum_v1"] {
            let z = try apply(name, [row(.float32, [0, -0.0]), row(.float32, [-0.0, 0])], to: .float32).numbers
            #expect(z[0].sign == .plus && z[1].sign == .minus)
        }
        let relu = try apply("relu_v1", [row(.float32, [-0.0, .nan])], to: .float32).numbers
        #expect(relu[0] == 0 && relu[0].sign == .minus && relu[1].isNaN)
    }

    @Test func divisionByZeroNamesTheElement() throws {
        // Element 700 lies in the second block.
        var divisors = [Double](repeating: 1, count: 1000)
        divisors[700] = 0
        for name in ["primitive.divide_v1", "primitive.floor_divide_v1", "primitive.modulo_v1"] {
            let error = #expect(throws: KernelError.self) {
                try apply(name, [row(.int32, [Double](repeating: 7, count: 1000)), row(.int32, divisors)], to: .int32)
            }
            #expect(error?.message == "integer division by zero at element 700")
        }
    }

    /// Shapes whose runs end inside, at and beyond the borders of blocks.
    @Test(arguments: [[1], [511], [512], [513], [3, 1, 171], [5, 7, 31], [2, 600], [600, 2]])
    func broadcastingAgreesWithTheFormula(_ shape: [Int]) throws {
        let count = shape.reduce(1, *)
        let x = Example.Tensor(.float32, shape, (0..<count).map { Double($0) })
        for mask in 0..<1 << shape.count {
            let other = shape.indices.map { mask >> $0 & 1 == 1 ? shape[$0] : 1 }
            let size = other.reduce(1, *)
            let y = Example.Tensor(.float32, other, (0..<size).map { Double($0) * 1000 })
            let found = try apply("broadcasting_sub_v1", [x, y], to: .float32).numbers
            let expected = (0..<count).map { flat -> Double in
                var (rest, place, step) = (flat, 0, 1)
                for axis in shape.indices.reversed() {
                    if other[axis] != 1 {
                        place += rest % shape[axis] * step
                        step *= shape[axis]
                    }
                    rest /= shape[axis]
                }
                return Double(flat) - Double(place) * 1000
            }
            #expect(found == expected, "\(shape) - \(other)")
        }
    }

    @Test func narrowFloatsAreRoundedOnceAtTheEnd() throws {
        // In float16 steps x * sigmoid(x) would differ from the float32 result rounded once.
        let values = (0..<200).map { Double(Float16(-8 + Double($0) * 0.08)) }
        let found = try apply("silu_v1", [row(.float16, values)], to: .float16).numbers
        let wide = try apply("silu_v1", [row(.float32, values)], to: .float32).numbers
        #expect(found == wide.map { Double(Float16(Float($0))) })
    }
}

/// What element-wise ops know about sizes without running.
@Suite struct NumericInferenceTests {
    private func infer(_ name: String, _ scalar: ScalarType, _ values: [[Dimension]], shape: [Dimension]? = nil) throws
        -> [Dimension]?
    {
        let definition = try #require(OpTable[name])
        var context = InferenceContext(
            op: Op(name), signature: definition.signature,
            operandTypes: values.map { .tensor(TensorType(scalar, shape ?? [Dimension($0.count)])) },
            operandValues: values.map { $0 }, declaredTypes: [.tensor(TensorType(scalar, [.unknown]))], nextSymbol: 9)
        _ = try definition.inferTypes(&context)
        return try #require(context.resultValues.first)
    }

    @Test func sizesPassThroughArithmetic() throws {
        let s = Dimension.symbol(0)
        #expect(try infer("primitive.add_v1", .int32, [[s, 2], [1, 3]]) == [s + 1, 5])
        #expect(try infer("primitive.sub_v1", .uint32, [[s], [1]]) == [s - 1])
        #expect(try infer("primitive.mul_v1", .int32, [[s], [2]]) == [s * 2])
        #expect(try infer("primitive.floor_divide_v1", .int32, [[s], [2]]) == [s.floorDivided(by: 2)])
        #expect(try infer("broadcasting_add_v1", .int32, [[s, 2, 4], [1]]) == [s + 1, 3, 5])
    }

    @Test func whatWouldWrapOrFailIsNotKnown() throws {
        #expect(try infer("primitive.sub_v1", .uint32, [[1], [2]]) == nil)
        #expect(try infer("primitive.add_v1", .int8, [[100], [100]]) == nil)
        #expect(try infer("primitive.floor_divide_v1", .int32, [[1], [0]]) == nil)
    }

    @Test func emptyTensorsOfEnormousSizesAreOnlyEmpty() throws {
        let huge: [Dimension] = [Dimension(1 << 40), Dimension(1 << 40), 0]
        _ = try infer("primitive.add_v1", .int32, [[], []], shape: huge)
    }
}
