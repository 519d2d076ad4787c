import CoreAIGraph

let matmulDefinitions = [
    matmul(
        "primitive.batch_matmul_v1", broadcasts: false,
        summary:
            "Multiplies matrices x[.., M, K] and y[.., K, N] of equal leading axes; narrow floats add up in float32.",
        examples: [
            Example(
                [.init(.float32, [2, 3], [1, 2, 3, 4, 5, 6]), .init(.float32, [3, 2], [1, 0, 0, 1, 1, 1])],
                results: [.init(.float32, [2, 2], [4, 5, 10, 11])]),
            Example(
                [.init(.float16, [2, 1, 2], [1, 2, 3, 4]), .init(.float16, [2, 2, 1], [1, 1, 2, 2])],
                results: [.init(.float16, [2, 1, 1], [3, 14])]),
            Example(
                [.init(.int8, [1, 2], [100, 100]), .init(.int8, [2, 1], [1, 1])],
                results: [.init(.int8, [1, 1], [-56])]),
            Example(
                [.init(.float32, [2, 0], []), .init(.float32, [0, 1], [])],
                results: [.init(.float32, [2, 1], [0, 0])]),
            Example(
                [.init(.cfloat32, [1, 1], [1, 2]), .init(.cfloat32, [1, 1], [3, -1])],
                results: [.init(.cfloat32, [1, 1], [5, 5])]),
        ]),
    matmul(
        "broadcasting_batch_matmul_v1", broadcasts: true,
        summary: "Multiplies matrices x[.., M, K] and y[.., K, N]; the leading axes are broadcast.",
        examples: [
            Example(
                [.init(.float32, [2, 1, 2], [1, 2, 3, 4]), .init(.float32, [2, 2], [1, 0, 1, 1])],
                results: [.init(.float32, [2, 1, 2], [3, 2, 7, 4])]),
            Example(
                [.init(.float32, [2, 1, 1, 1], [1, 2]), .init(.float32, [1, 3, 1, 1], [1, 10, 100])],
                results: [.init(.float32, [2, 3, 1, 1], [1, 10, 100, 2, 20, 200])]),
            Example(
                [.init(.bfloat16, [0, 1, 1], []), .init(.bfloat16, [1, 1, 1], [1])],
                results: [.init(.bfloat16, [0, 1, 1], [])]),
        ]),
]

private func matmul(_ name: String, broadcasts: Bool, summary: String, examples: [Example]) -> OpDefinition {
    OpDefinition(
        name, summary: summary, signature: Signature([.data("x"), .data("y")]),
        inferTypes: { context throws(GraphError) in
            let (x, y) = (try context.tensor("x"), try context.tensor("y"))
            try context.expectSameScalar("x", "y")
            guard x.scalar.hasArithmetic, x.scalar != .bool else {
                throw context.error("matrices of \(x.scalar.name) cannot be multiplied")
            }
            guard x.rank >= 2, y.rank >= 2 else {
                throw context.error("'x' has rank \(x.rank) and 'y' \(y.rank); matrices need 2 axes or more")
            }
            let (rows, columns) = (x.shape[x.rank - 2], y.shape[y.rank - 1])
            _ = try context.same(
                x.shape[x.rank - 1], y.shape[y.rank - 2], "the columns of 'x' and the rows of 'y'")
            let (left, right) = (Array(x.shape.dropLast(2)), Array(y.shape.dropLast(2)))
            let batch =
                broadcasts
                ? try context.broadcast(left, right)
                : try context.sameShape(left, right, "the leading axes of 'x' and 'y'")
            return [.tensor(TensorType(x.scalar, batch + [rows, columns]))]
        },
        reference: { context throws(KernelError) in
            let (x, y) = (context.tensor("x"), context.tensor("y"))
            let product = MatrixProduct(x, y, context.results[0])
            guard product.fits else {
                throw KernelError("\(x.shape) times \(y.shape) is not \(context.results[0].shape)")
            }
            try x.scalar.perform(product)
        },
        tolerance: .sumOfMagnitudes(32), examples: examples)
}

private struct MatrixProduct: LaneWork {
    let x: HostTensor
    let y: HostTensor
    let result: HostTensor
    let rows: Int
    let terms: Int
    let columns: Int
    /// The leading axes of the result, and how many matrices apart neighbours along each are in the operands.
    let batch: [Int]
    let leftSteps: [Int]
    let rightSteps: [Int]

    init(_ x: HostTensor, _ y: HostTensor, _ result: HostTensor) {
        (self.x, self.y, self.result) = (x, y, result)
        (rows, terms, columns) = (x.shape[x.rank - 2], x.shape[x.rank - 1], y.shape[y.rank - 1])
        batch = Array(result.shape.dropLast(2))
        leftSteps = Self.steps(Array(x.shape.dropLast(2)), batch.count)
        rightSteps = Self.steps(Array(y.shape.dropLast(2)), batch.count)
    }

    private static func steps(_ shape: [Int], _ rank: Int) -> [Int] {
        let strides = zip(shape, denseStrides(shape)).map { $0 == 1 ? 0 : $1 }
        return Array(repeating: 0, count: max(rank - shape.count, 0)) + strides
    }

    var fits: Bool {
        func broadcasts(_ shape: ArraySlice<Int>) -> Bool {
            shape.count <= batch.count && zip(shape.reversed(), batch.reversed()).allSatisfy { $0 == 1 || $0 == $1 }
        }
        return y.shape[y.rank - 2] == terms && result.shape.suffix(2) == [rows, columns]
            && broadcasts(x.shape.dropLast(2)) && broadcasts(y.shape.dropLast(2))
    }

    func run<T: Lane>(as lane: T.Type) {
        T.reading(x) { left in
            T.reading(y) { right in
                T.writing(result) { target in
                    var matrix = target
                    forEachOffset(batch, leftSteps, rightSteps) { from, and in
                        multiply(left + from * rows * terms, right + and * terms * columns, to: matrix)
                        matrix += rows * columns
                    }
                }
            }
        }
    }

    /// Adds one product to zeros: four rows at a time, along a stretch of columns that stays in the nearest cache.
    @inline(__always)
    private func multiply<T: Lane>(
        _ left: UnsafeMutablePointer<T>, _ right: UnsafeMutablePointer<T>, to target: UnsafeMutablePointer<T>
    ) {
        let stretch = 512
        for column in stride(from: 0, to: columns, by: stretch) {
            let width = min(stretch, columns - column)
            var row = 0
            while row + 4 <= rows {
                let a = target + row * columns + column
                let (b, c, d) = (a + columns, a + 2 * columns, a + 3 * columns)
                for term in 0..<terms {
                    let vector = right + term * columns + column
                    let factor = left + row * terms + term
                    let (p, q, r, s) = (factor[0], factor[terms], factor[2 * terms], factor[3 * terms])
                    for index in 0..<width {
                        let value = vector[index]
                        a[index] = T.sum(a[index], T.product(p, value))
                        b[index] = T.sum(b[index], T.product(q, value))
                        c[index] = T.sum(c[index], T.product(r, value))
                        d[index] = T.sum(d[index], T.product(s, value))
                    }
                }
                row += 4
            }
            while row < rows {
                let a = target + row * columns + column
                for term in 0..<terms {
                    addScaled(left[row * terms + term], right + term * columns + column, width, to: a)
                }
                row += 1
            }
        }
    }
}

/// Adds a multiple of a vector to another.
@inline(__always)
func addScaled<T: Lane>(
    _ factor: T, _ source: UnsafeMutablePointer<T>, _ count: Int, to target: UnsafeMutablePointer<T>
) {
    for index in 0..<count { target[index] = T.sum(target[index], T.product(factor, source[index])) }
}
