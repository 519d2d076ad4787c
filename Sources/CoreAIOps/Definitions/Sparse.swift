import CoreAIGraph

/// A sparse value exists only between these ops. Where kernels compute it lies dense, zero where nothing is stored.
let sparseDefinitions = [
    OpDefinition(
        "primitive.build_sparse_with_bitmask_v1",
        summary: "A sparse tensor of stored values and a mask that is 1 where they belong, in row-major order.",
        signature: Signature([.data("values"), .data("bitmask", [.uint1])]), form: .weight,
        inferTypes: { (context) throws(GraphError) in
            let (values, mask) = (try context.tensor("values"), try context.tensor("bitmask"))
            guard values.rank == 1 else { throw context.error("the values \(values) must be a vector") }
            let dense = TensorType(values.scalar, mask.shape)
            if case .sparse(_, let encoding)? = context.declaredTypes.first { return [.sparse(dense, encoding)] }
            return [.tensor(dense)]
        },
        reference: { (context) throws(KernelError) in
            let (values, mask, result) = (context.tensor("values"), context.tensor("bitmask"), context.results[0])
            let bits = mask.pointer(as: UInt8.self)
            let size = values.scalar.byteStride
            result.base.initializeMemory(as: UInt8.self, repeating: 0, count: result.byteCount)
            var next = 0
            for index in 0..<mask.count where bits[index] != 0 {
                guard next < values.count else {
                    throw KernelError("the mask has more ones than the \(values.count) stored values")
                }
                (result.base + index * size).copyMemory(from: values.base + next * size, byteCount: size)
                next += 1
            }
            guard next == values.count else {
                throw KernelError("the mask has \(next) ones for \(values.count) stored values")
            }
        },
        examples: [
            Example(
                [.init(.float32, [3], [1, 2, 3]), .init(.uint1, [2, 3], [0, 1, 0, 1, 1, 0])],
                results: [.init(.float32, [2, 3], [0, 1, 0, 2, 3, 0])]),
            Example([.init(.int8, [0], []), .init(.uint1, [2], [0, 0])], results: [.init(.int8, [2], [0, 0])]),
        ]),
    OpDefinition(
        "primitive.sparse_with_bitmask_to_dense_v1",
        summary: "The dense tensor of a sparse one, zero where nothing is stored.",
        signature: Signature([.data("x")]), form: .weight,
        inferTypes: { (context) throws(GraphError) in
            let x = try context.tensor("x")
            return [.tensor(TensorType(x.scalar, x.shape))]
        },
        reference: { (context) throws(KernelError) in
            let (x, result) = (context.tensor("x"), context.results[0])
            result.base.copyMemory(from: x.base, byteCount: x.byteCount)
        },
        examples: [Example([.init(.float32, [2], [0, 1])], results: [.init(.float32, [2], [0, 1])])]),
]
