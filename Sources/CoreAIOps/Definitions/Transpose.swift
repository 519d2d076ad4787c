import CoreAIGraph

let transposeDefinitions = [
    OpDefinition(
        "primitive.transpose_v1",
        summary: "Reorders axes: axis i of the result is axis permutation[i] of the operand.",
        signature: Signature([.data("x"), .steering("permutation")]),
        inferTypes: { context throws(GraphError) in
            let x = try context.tensor("x")
            let permutation = try context.axes("permutation", rank: x.rank)
            guard permutation.count == x.rank, Set(permutation).count == x.rank else {
                throw context.error("\(permutation) is no permutation of \(x.rank) axes")
            }
            if x.rank <= 1 { context.resultValues = [context.values(of: "x")] }
            return [.tensor(TensorType(x.scalar, permutation.map { x.shape[$0] }))]
        },
        reference: { context throws(KernelError) in
            let (x, result) = (context.tensor("x"), context.results[0])
            let strides = x.strides
            let permutation = try context.axes("permutation", rank: x.rank)
            guard permutation.map({ x.shape[$0] }) == result.shape else {
                throw KernelError("\(x.shape) transposed by \(permutation) is not \(result.shape)")
            }
            copyElements(
                result.shape, byteStride: x.scalar.byteStride,
                from: StridedSide(x.base, permutation.map { strides[$0] }),
                to: StridedSide(result))
        },
        examples: [
            Example(
                [.init(.float32, [2, 3], [1, 2, 3, 4, 5, 6]), .init(.int32, [2], [1, 0])],
                results: [.init(.float32, [3, 2], [1, 4, 2, 5, 3, 6])]),
            Example(
                [.init(.int16, [1, 2, 2], [1, 2, 3, 4]), .init(.int32, [3], [-1, 0, 1])],
                results: [.init(.int16, [2, 1, 2], [1, 3, 2, 4])]),
            Example(
                [.init(.float32, [2, 0], []), .init(.uint32, [2], [1, 0])], results: [.init(.float32, [0, 2], [])]),
            Example(
                [.init(.cfloat64, [2, 2], [1, 0, 2, 0, 3, 0, 4, -1]), .init(.int32, [2], [1, 0])],
                results: [.init(.cfloat64, [2, 2], [1, 0, 3, 0, 2, 0, 4, -1])]),
            Example([.init(.float32, [], [5]), .init(.int32, [0], [])], results: [.init(.float32, [], [5])]),
        ]),
    OpDefinition(
        "primitive.reverse_v1",
        summary: "Runs the given axes backwards.",
        signature: Signature([.data("x"), .steering("dims")]),
        inferTypes: { context throws(GraphError) in
            let x = try context.tensor("x")
            let axes = try context.axes("dims", rank: x.rank)
            if let values = context.values(of: "x"), x.rank <= 1 {
                context.resultValues = [axes.isEmpty ? values : values.reversed()]
            }
            return [.tensor(TensorType(x.scalar, x.shape))]
        },
        reference: { context throws(KernelError) in
            let x = context.tensor("x")
            guard x.count > 0 else { return }
            var source = StridedSide(x)
            for axis in Set(try context.axes("dims", rank: x.rank)) {
                source.base += source.strides[axis] * (x.shape[axis] - 1) * x.scalar.byteStride
                source.strides[axis] = -source.strides[axis]
            }
            copyElements(x.shape, byteStride: x.scalar.byteStride, from: source, to: StridedSide(context.results[0]))
        },
        examples: [
            Example(
                [.init(.float32, [2, 3], [1, 2, 3, 4, 5, 6]), .init(.int32, [1], [-1])],
                results: [.init(.float32, [2, 3], [3, 2, 1, 6, 5, 4])]),
            Example(
                [.init(.int8, [2, 2], [1, 2, 3, 4]), .init(.int32, [2], [0, 1])],
                results: [.init(.int8, [2, 2], [4, 3, 2, 1])]),
            Example([.init(.int8, [2], [1, 2]), .init(.int32, [0], [])], results: [.init(.int8, [2], [1, 2])]),
            Example([.init(.int8, [0, 2], []), .init(.int32, [1], [0])], results: [.init(.int8, [0, 2], [])]),
        ]),
    OpDefinition(
        "tile_v2", aliases: ["tile_v1"],
        summary: "Repeats the operand along its axes; fewer counts than axes apply to the innermost.",
        signature: Signature([.data("x"), .steering("dims")]),
        inferTypes: { context throws(GraphError) in
            let x = try context.tensor("x")
            guard let counts = context.steering("dims") else {
                return [.tensor(TensorType(x.scalar, context.dataDependentShape(rank: x.rank)))]
            }
            guard counts.count <= x.rank else {
                throw context.error("\(counts.count) counts for rank \(x.rank)")
            }
            let all = Array(repeating: Dimension(1), count: x.rank - counts.count) + counts
            return [.tensor(TensorType(x.scalar, try context.checkedShape(zip(x.shape, all).map(*), "dims")))]
        },
        reference: { context throws(KernelError) in
            let (x, result) = (context.tensor("x"), context.results[0])
            let strides = x.strides
            let targetStrides = result.strides
            guard result.count > 0 else { return }
            // Each axis becomes two: the repetition, along which the source stands still, and the axis itself.
            var shape: [Int] = []
            var (from, to) = ([Int](), [Int]())
            for axis in x.shape.indices {
                guard result.shape[axis] % x.shape[axis] == 0 else {
                    throw KernelError("\(x.shape) does not tile \(result.shape)")
                }
                shape += [result.shape[axis] / x.shape[axis], x.shape[axis]]
                from += [0, strides[axis]]
                to += [targetStrides[axis] * x.shape[axis], targetStrides[axis]]
            }
            copyElements(
                shape, byteStride: x.scalar.byteStride, from: StridedSide(x.base, from),
                to: StridedSide(result.base, to))
        },
        examples: [
            Example(
                [.init(.float32, [2, 2], [1, 2, 3, 4]), .init(.uint32, [2], [2, 1])],
                results: [.init(.float32, [4, 2], [1, 2, 3, 4, 1, 2, 3, 4])]),
            Example(
                [.init(.float32, [2, 1], [1, 2]), .init(.uint32, [1], [3])],
                results: [.init(.float32, [2, 3], [1, 1, 1, 2, 2, 2])]),
            Example([.init(.int32, [2], [1, 2]), .init(.uint32, [1], [0])], results: [.init(.int32, [0], [])]),
            Example([.init(.int32, [], [3]), .init(.uint32, [0], [])], results: [.init(.int32, [], [3])]),
        ]),
]
