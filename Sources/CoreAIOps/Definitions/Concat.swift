import CoreAIGraph

let concatDefinitions = [
    OpDefinition(
        "primitive.concat_v1",
        summary: "Joins tensors along an axis; a scalar among vectors counts as a vector of one element.",
        signature: Signature([.steering("dimension"), .variadic("inputs")]),
        inferTypes: { context throws(GraphError) in
            let inputs = try context.tensors("inputs")
            guard let first = inputs.first else { throw context.error("nothing to join") }
            let shapes = inputs.map { $0.rank == 0 ? [1] : $0.shape }
            let axis = try context.axis("dimension", rank: shapes[0].count)
            var shape = shapes[0]
            for (input, sizes) in zip(inputs, shapes).dropFirst() {
                guard input.scalar == first.scalar else {
                    throw context.error("\(first) and \(input) cannot be joined")
                }
                guard sizes.count == shape.count else { throw context.error("\(first) and \(input) differ in rank") }
                for other in shape.indices {
                    shape[other] =
                        other == axis
                        ? shape[other] + sizes[other]
                        : try context.same(shape[other], sizes[other], "\(first) and \(input) differ at axis \(other)")
                }
            }
            if axis == 0, let start = context.index(of: "inputs") {
                let known = context.operandValues.dropFirst(start).compactMap { $0 }
                if known.count == inputs.count { context.resultValues = [known.flatMap { $0 }] }
            }
            return [.tensor(TensorType(first.scalar, shape))]
        },
        reference: { context throws(KernelError) in
            let result = context.results[0]
            let axis = try context.axis("dimension", rank: result.rank)
            var offset = 0
            for input in context.tensors("inputs") {
                let shape = input.rank == 0 ? [1] : input.shape
                try copyPart(input, shape, of: result, axis: axis, at: offset, intoPart: false)
                offset += shape[axis]
            }
            guard offset == result.shape[axis] else {
                throw KernelError("inputs have \(offset) along axis \(axis), the result \(result.shape[axis])")
            }
        },
        examples: [
            Example(
                [.init(.int32, [], [-1]), .init(.float32, [2, 1], [1, 2]), .init(.float32, [2, 2], [3, 4, 5, 6])],
                results: [.init(.float32, [2, 3], [1, 3, 4, 2, 5, 6])]),
            Example(
                [.init(.int32, [1], [0]), .init(.int32, [], [7]), .init(.int32, [2], [8, 9]), .init(.int32, [0], [])],
                results: [.init(.int32, [3], [7, 8, 9])]),
            Example(
                [.init(.int32, [], [0]), .init(.bool, [0, 2], []), .init(.bool, [1, 2], [0, 1])],
                results: [.init(.bool, [1, 2], [0, 1])]),
        ]),
    OpDefinition(
        "primitive.split_v1",
        summary:
            "Cuts a tensor along an axis into chunks of one size (the last smaller), or into parts of given sizes.",
        signature: Signature(
            [.data("x"), .steering("size_or_sections"), .steering("dim")], results: ["parts"], hasVariadicResults: true),
        inferTypes: { context throws(GraphError) in
            let x = try context.tensor("x")
            let axis = try context.axis("dim", rank: x.rank)
            let count = context.declaredTypes.count
            let sizes = try partSizes(x, axis, count, &context)
            if x.rank == 1, let values = context.values(of: "x") {
                let numbers = sizes.compactMap(\.constant)
                if numbers.count == count, numbers.reduce(0, +) == values.count {
                    var rest = values[...]
                    for (index, number) in numbers.enumerated() {
                        context.resultValues[index] = Array(rest.prefix(number))
                        rest = rest.dropFirst(number)
                    }
                }
            }
            return sizes.map { size in
                var shape = x.shape
                shape[axis] = size
                return .tensor(TensorType(x.scalar, shape))
            }
        },
        reference: { context throws(KernelError) in
            let x = context.tensor("x")
            let axis = try context.axis("dim", rank: x.rank)
            var offset = 0
            for result in context.results {
                guard result.rank == x.rank, offset + result.shape[axis] <= x.shape[axis] else {
                    throw KernelError("the parts exceed axis \(axis) of size \(x.shape[axis])")
                }
                try copyPart(result, result.shape, of: x, axis: axis, at: offset, intoPart: true)
                offset += result.shape[axis]
            }
            guard offset == x.shape[axis] else {
                throw KernelError("the parts cover \(offset) of \(x.shape[axis]) along axis \(axis)")
            }
        },
        examples: [
            Example(
                [.init(.float32, [5], [1, 2, 3, 4, 5]), .init(.int32, [], [2]), .init(.int32, [], [0])],
                results: [.init(.float32, [2], [1, 2]), .init(.float32, [2], [3, 4]), .init(.float32, [1], [5])]),
            Example(
                [.init(.int8, [2, 3], [1, 2, 3, 4, 5, 6]), .init(.int32, [3], [1, 0, 2]), .init(.int32, [], [-1])],
                results: [
                    .init(.int8, [2, 1], [1, 4]), .init(.int8, [2, 0], []), .init(.int8, [2, 2], [2, 3, 5, 6]),
                ]),
            Example(
                [.init(.int8, [0], []), .init(.int32, [1], [0]), .init(.int32, [], [0])],
                results: [.init(.int8, [0], [])]),
        ]),
]

/// Moves between `whole` and a part of it that begins at `offset` along `axis`.
private func copyPart(
    _ part: HostTensor, _ shape: [Int], of whole: HostTensor, axis: Int, at offset: Int, intoPart: Bool
) throws(KernelError) {
    for other in shape.indices {
        let room = other == axis ? whole.shape[other] - offset : whole.shape[other]
        guard other == axis ? shape[other] <= room : shape[other] == room else {
            throw KernelError("a part of shape \(shape) does not fit \(whole.shape) at \(offset) along axis \(axis)")
        }
    }
    let byteStride = whole.scalar.byteStride
    let inWhole = StridedSide(whole).advanced(by: whole.strides[axis] * offset, byteStride: byteStride)
    let inPart = StridedSide(part.base, denseStrides(shape))
    copyElements(shape, byteStride: byteStride, from: intoPart ? inWhole : inPart, to: intoPart ? inPart : inWhole)
}

/// A one-element vector of sizes must name the whole axis, so it can be read as the size of one chunk.
private func partSizes(
    _ x: TensorType, _ axis: Int, _ count: Int, _ context: inout InferenceContext
) throws(GraphError) -> [Dimension] {
    let total = x.shape[axis]
    guard count > 0 else { throw context.error("a split has results") }
    guard let sizes = context.steering("size_or_sections") else {
        var parts: [Dimension] = []
        for part in 0..<count { parts.append(context.dataDependentSize(axis: axis, rank: x.rank, result: part)) }
        return parts
    }
    if let negative = sizes.lazy.compactMap(\.constant).first(where: { $0 < 0 }) {
        throw context.error("a part cannot have size \(negative)")
    }
    if sizes.count == 1, count == 1 {
        if let chunk = sizes[0].constant, let total = total.constant, chunk < total {
            throw context.error("chunks of \(chunk) out of \(total) do not give one result")
        }
        return [total]
    }
    if sizes.count == 1 {
        let parts = total.ceilDivided(by: sizes[0])
        if parts.isUnknown { throw context.error("\(total) cannot be cut into chunks of \(sizes[0])") }
        _ = try context.same(parts, Dimension(count), "chunks of \(sizes[0]) out of \(total)")
        return Array(repeating: sizes[0], count: count - 1) + [total - sizes[0] * Dimension(count - 1)]
    }
    guard sizes.count == count else { throw context.error("\(sizes.count) sizes for \(count) results") }
    var checked: [Dimension] = []
    for (part, size) in sizes.enumerated() {
        checked.append(size.isUnknown ? context.dataDependentSize(axis: axis, rank: x.rank, result: part) : size)
    }
    _ = try context.same(checked.reduce(0, +), total, "the sizes \(sizes) do not add up to axis \(axis)")
    return checked
}
