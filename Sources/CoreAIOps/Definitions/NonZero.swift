import CoreAIGraph

let nonZeroDefinitions = [
    OpDefinition(
        "primitive.non_zero_v1",
        summary: "The positions of the elements that are not zero, in row-major order.",
        signature: Signature([.data("x")]),
        inferTypes: { context throws(GraphError) in
            let x = try context.tensor("x")
            return [
                .tensor(
                    TensorType(
                        context.declaredInteger(else: .int32),
                        [context.freshSymbol(atMost: x.elementCount), Dimension(x.rank)]))
            ]
        },
        reference: { context throws(KernelError) in
            let (x, result) = (context.tensor("x"), context.results[0])
            let isZero = zeroTest(x)
            var (found, element) = (0, 0)
            var position = [Int](repeating: 0, count: x.rank)
            while element < x.count {
                if !isZero(element) {
                    guard (found + 1) * x.rank <= result.count else {
                        throw KernelError("more than \(result.shape[0]) elements are not zero")
                    }
                    for axis in position.indices { try result.store(position[axis], at: found * x.rank + axis) }
                    found += 1
                }
                element += 1
                for axis in position.indices.reversed() {
                    position[axis] += 1
                    if position[axis] < x.shape[axis] { break }
                    position[axis] = 0
                }
            }
            context.actualShapes[0] = [found, x.rank]
        },
        examples: [
            // -0 is zero, NaN is not.
            Example([.init(.float32, [2, 2], [0, 1, -0.0, .nan])], results: [.init(.int32, [2, 2], [0, 1, 1, 1])]),
            Example([.init(.bool, [3], [0, 0, 0])], results: [.init(.int32, [0, 1], [])]),
            Example([.init(.int8, [], [5])], results: [.init(.int32, [1, 0], [])]),
            Example([.init(.int8, [0, 3], [])], results: [.init(.int32, [0, 2], [])]),
        ])
]

/// Says of each element whether it is zero. In the floating-point types of 16 bits and more, and in the 8-bit ones with
/// a sign, all bits but the sign are clear.
private func zeroTest(_ x: HostTensor) -> (Int) -> Bool {
    let hasSign = (x.scalar.isFloat && x.scalar != .float8e8m0fn) || x.scalar.isComplex
    func test<T: FixedWidthInteger & UnsignedInteger & BitwiseCopyable>(_: T.Type, _ sign: T, count: Int = 1) -> (Int)
        -> Bool
    {
        let pointer = x.base.assumingMemoryBound(to: T.self)
        let mask = hasSign ? ~sign : T.max
        return { element in (0..<count).allSatisfy { pointer[element * count + $0] & mask == 0 } }
    }
    switch x.scalar {
    case .cfloat16: return test(UInt16.self, 1 << 15, count: 2)
    case .cfloat32: return test(UInt32.self, 1 << 31, count: 2)
    case .cfloat64: return test(UInt64.self, 1 << 63, count: 2)
    case .float4e2m1fn: return test(UInt8.self, 1 << 3)
    default: break
    }
    switch x.scalar.byteStride {
    case 1: return test(UInt8.self, 1 << 7)
    case 2: return test(UInt16.self, 1 << 15)
    case 4: return test(UInt32.self, 1 << 31)
    case 8: return test(UInt64.self, 1 << 63)
    default: return test(UInt64.self, 0, count: 2)
    }
}
