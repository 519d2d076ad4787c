import CoreAIGraph

let lookupTableDefinitions = [
    OpDefinition(
        "primitive.lut_to_dense_v1",
        summary:
            "Replaces each index by the entry of its block's table; an entry of V values lengthens the axis V times.",
        signature: Signature([.data("indices"), .data("lut"), .steering("axis")]), form: .weight,
        inferTypes: { (context) throws(GraphError) in
            let (indices, table) = (try context.tensor("indices"), try context.tensor("lut"))
            guard indices.scalar.isUnsignedInteger, indices.scalar.bitWidth <= 8 else {
                throw context.error("indices are \(indices.scalar.name), 1 to 8 unsigned bits are expected")
            }
            guard table.rank == indices.rank + 2 else {
                throw context.error("the table \(table) must have two axes more than the indices \(indices)")
            }
            for axis in 0..<indices.rank {
                guard let whole = indices.shape[axis].constant, let blocks = table.shape[axis].constant else {
                    continue
                }
                guard blocks > 0 ? whole % blocks == 0 : whole == 0 else {
                    throw context.error("the table \(table) does not divide the indices \(indices) at axis \(axis)")
                }
            }
            if let entries = table.shape[indices.rank].constant, entries < 1 << indices.scalar.bitWidth {
                throw context.error("the table has \(entries) entries for indices of \(indices.scalar.bitWidth) bits")
            }
            var shape = indices.shape
            let length = table.shape[indices.rank + 1]
            if length.constant != 1 || indices.rank > 0 {
                let axis = try context.axis("axis", rank: max(1, indices.rank))
                if axis < shape.count { shape[axis] = shape[axis] * length }
            }
            return [.tensor(TensorType(table.scalar, shape))]
        },
        reference: { (context) throws(KernelError) in
            let (indices, table, result) = (context.tensor("indices"), context.tensor("lut"), context.results[0])
            guard result.count > 0 else { return }
            let rank = indices.rank
            let axis = try context.axis("axis", rank: max(1, rank))
            let (entries, length) = (table.shape[rank], table.shape[rank + 1])
            let strides = table.strides
            let blocks = (0..<rank).map { table.shape[$0] > 0 ? max(1, indices.shape[$0] / table.shape[$0]) : 1 }
            let codes = indices.pointer(as: UInt8.self)
            // Values of one index lie as far apart in the result as what is inside the axis is long.
            let inside = axis < rank ? indices.shape[(axis + 1)...].reduce(1, *) : 1
            let size = table.scalar.byteStride
            var position = [Int](repeating: 0, count: rank)
            for index in 0..<indices.count {
                let code = Int(codes[index])
                guard code < entries else {
                    throw KernelError("index \(code) is out of range for a table of \(entries)")
                }
                var entry = code * length
                for axis in 0..<rank { entry += position[axis] / blocks[axis] * strides[axis] }
                let place = index / inside * inside * length + index % inside
                for value in 0..<length {
                    (result.base + (place + value * inside) * size)
                        .copyMemory(from: table.base + (entry + value) * size, byteCount: size)
                }
                var axis = rank - 1
                while axis >= 0 {
                    position[axis] += 1
                    if position[axis] < indices.shape[axis] { break }
                    position[axis] = 0
                    axis -= 1
                }
            }
        },
        examples: [
            Example(
                [
                    .init(.uint1, [2, 2], [0, 1, 1, 0]), .init(.float32, [2, 1, 2, 1], [10, 20, 30, 40]),
                    .init(.int16, [], [1]),
                ],
                results: [.init(.float32, [2, 2], [10, 20, 40, 30])]),
            // Two values to an entry, laid along axis 0.
            Example(
                [
                    .init(.uint2, [1, 3], [3, 0, 1]), .init(.float16, [1, 1, 4, 2], [0, 1, 2, 3, 4, 5, 6, 7]),
                    .init(.int16, [], [0]),
                ],
                results: [.init(.float16, [2, 3], [6, 0, 2, 7, 1, 3])]),
        ])
]
