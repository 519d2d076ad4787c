import CoreAIGraph

let scatterDefinitions = [
    OpDefinition(
        "primitive.scatter_along_axis_v1",
        summary:
            "A copy of the first operand in which each update is combined into the element its index names, in order.",
        signature: Signature(
            [.data("x"), .data("indices"), .data("updates"), .steering("axis")], attributes: ["scatter_mode"]),
        inferTypes: { context throws(GraphError) in
            let (x, indices) = (try context.tensor("x"), try context.tensor("indices"))
            let updates = try context.tensor("updates")
            try expectIndices(indices, context)
            try context.expectSameScalar("x", "updates")
            let axis = try context.axis("axis", rank: x.rank)
            guard indices.rank == x.rank else { throw context.error("\(indices) must have the rank of \(x)") }
            for other in x.shape.indices where other != axis {
                _ = try context.same(
                    x.shape[other], indices.shape[other],
                    "\(indices) and \(x) differ at axis \(other), which is not indexed")
            }
            _ = try context.sameShape(indices.shape, updates.shape, "indices and updates")
            guard case .word(let word)? = context.op[attribute: "scatter_mode"], let mode = ScatterMode(rawValue: word)
            else {
                throw context.error("'scatter_mode' must be one of \(ScatterMode.allCases.map(\.rawValue))")
            }
            guard mode == .update || mode.combines(x.scalar) else {
                throw context.error("cannot \(word) \(x.scalar.name)")
            }
            return [.tensor(TensorType(x.scalar, x.shape))]
        },
        reference: { context throws(KernelError) in
            let (updates, result) = (context.tensor("updates"), context.results[0])
            guard let mode = context.word("scatter_mode").flatMap(ScatterMode.init(rawValue:)) else {
                throw KernelError("unknown scatter_mode")
            }
            try copyAll(context.tensor("x"), to: result)
            let walk = try AxisWalk(context, result, updates.shape)
            let codec = ElementCodec(result.scalar)
            let byteStride = result.scalar.byteStride
            var failure: KernelError?
            try walk.forEach { element, position in
                if mode == .update {
                    (result.base + element * byteStride).copyMemory(
                        from: updates.base + position * byteStride, byteCount: byteStride)
                } else if result.scalar.isFloat {
                    let sum = mode.combine(codec.load(result, element), codec.load(updates, position), codec)
                    codec.store(sum, result, element)
                } else {
                    let (old, new) = (result.integer(at: element), updates.integer(at: position))
                    guard let value = mode.combine(old, new, unsigned: result.scalar == .uint64) else {
                        failure = failure ?? KernelError("integer division by zero")
                        return
                    }
                    result.storeWrapped(value, at: element)
                }
            }
            if let failure { throw failure }
        },
        examples: [
            example(.update, [7, 8, 3]), example(.add, [6, 17, 3]), example(.sub, [-4, -13, 3]),
            example(.mul, [5, 112, 3]), example(.div, [0, 0, 3]), example(.max, [5, 8, 3]), example(.min, [1, 2, 3]),
            Example(
                [
                    .init(.float32, [2, 2], [1, .nan, -0.0, 4]), .init(.int32, [1, 2], [-1, 0]),
                    .init(.float32, [1, 2], [2, 5]), .init(.int32, [], [-2]),
                ],
                attributes: [.init("scatter_mode", .word("max"))],
                results: [.init(.float32, [2, 2], [1, .nan, 2, 4])]),
            Example(
                [.init(.int8, [1], [100]), .init(.int32, [1], [0]), .init(.int8, [1], [100]), .init(.int32, [], [0])],
                attributes: [.init("scatter_mode", .word("add"))], results: [.init(.int8, [1], [-56])]),
        ]),
    OpDefinition(
        "primitive.scatter_nd_v1",
        summary:
            "A copy of the first operand in which the slices at index vectors are replaced; of duplicates the last counts.",
        signature: Signature([.data("x"), .data("indices"), .data("updates")], regionCount: 1),
        inferTypes: { context throws(GraphError) in
            let (x, indices) = (try context.tensor("x"), try context.tensor("indices"))
            let updates = try context.tensor("updates")
            try context.expectSameScalar("x", "updates")
            let depth = try indexDepth(x, indices, context)
            _ = try context.sameShape(indices.shape.dropLast() + x.shape.dropFirst(depth), updates.shape, "updates")
            for region in context.op.regions {
                guard region.inputs.count >= 2, region.outputs.map(\.value) == [region.inputs[1].value] else {
                    throw context.error("the region must yield its second argument")
                }
            }
            return [.tensor(TensorType(x.scalar, x.shape))]
        },
        reference: { context throws(KernelError) in
            let (x, updates, result) = (context.tensor("x"), context.tensor("updates"), context.results[0])
            let slices = try SliceOffsets(x, context.tensor("indices"))
            guard slices.offsets.count * slices.byteCount == updates.byteCount else {
                throw KernelError("updates of shape \(updates.shape) are not \(slices.offsets.count) slices")
            }
            try copyAll(x, to: result)
            for (index, offset) in slices.offsets.enumerated() {
                (result.base + offset).copyMemory(
                    from: updates.base + index * slices.byteCount, byteCount: slices.byteCount)
            }
        },
        examples: [
            Example(
                [
                    .init(.float32, [3], [1, 2, 3]), .init(.int32, [3, 1], [-1, 0, 2]),
                    .init(.float32, [3], [7, 8, 9]),
                ],
                results: [.init(.float32, [3], [8, 2, 9])]),
            Example(
                [.init(.int8, [2, 2], [1, 2, 3, 4]), .init(.int32, [1, 1], [1]), .init(.int8, [1, 2], [8, 9])],
                results: [.init(.int8, [2, 2], [1, 2, 8, 9])]),
            Example(
                [.init(.int8, [2], [1, 2]), .init(.int32, [0, 1], []), .init(.int8, [0], [])],
                results: [.init(.int8, [2], [1, 2])]),
        ]),
]

private func example(_ mode: ScatterMode, _ values: [Double]) -> Example {
    Example(
        [
            .init(.int32, [3], [1, 2, 3]), .init(.int32, [3], [0, 1, -2]), .init(.int32, [3], [5, 7, 8]),
            .init(.int32, [], [0]),
        ],
        attributes: [.init("scatter_mode", .word(mode.rawValue))],
        results: [.init(.int32, [3], mode == .update ? [5, 8, 3] : values)])
}

/// How an update meets the element it is scattered to.
private enum ScatterMode: String, CaseIterable {
    case update, add, sub, mul, div, max, min

    func combines(_ scalar: ScalarType) -> Bool {
        scalar.isFloat || (scalar.isInteger && scalar.bitWidth >= 8 && scalar.bitWidth <= 64)
    }

    /// Computed in `Float` or wider; the caller rounds to the type.
    func combine(_ a: Double, _ b: Double, _ codec: ElementCodec) -> Double {
        if a.isNaN || b.isNaN, self != .update { return .nan }
        switch self {
        case .update: return b
        case .add: return codec.computesInFloat ? Double(Float(a) + Float(b)) : a + b
        case .sub: return codec.computesInFloat ? Double(Float(a) - Float(b)) : a - b
        case .mul: return codec.computesInFloat ? Double(Float(a) * Float(b)) : a * b
        case .div: return codec.computesInFloat ? Double(Float(a) / Float(b)) : a / b
        case .max: return b > a ? b : a
        case .min: return b < a ? b : a
        }
    }

    /// Wraps; nil when dividing by zero.
    func combine(_ a: Int, _ b: Int, unsigned: Bool) -> Int? {
        let less = unsigned ? UInt(bitPattern: a) < UInt(bitPattern: b) : a < b
        switch self {
        case .update: return b
        case .add: return a &+ b
        case .sub: return a &- b
        case .mul: return a &* b
        case .div:
            if b == 0 { return nil }
            if unsigned { return Int(bitPattern: UInt(bitPattern: a) / UInt(bitPattern: b)) }
            return a.dividedReportingOverflow(by: b).partialValue
        case .max: return less ? b : a
        case .min: return less ? a : b
        }
    }
}
