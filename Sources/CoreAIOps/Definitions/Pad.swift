import CoreAIGraph

let padDefinitions = [
    OpDefinition(
        "primitive.pad_v1",
        summary: "Adds elements before and after each axis: a value, or the operand's own by mirroring or wrapping.",
        signature: Signature([.data("x"), .steering("padding"), .data("value")], attributes: ["padding_mode"]),
        inferTypes: { context throws(GraphError) in
            let x = try context.tensor("x")
            try context.expectSameScalar("x", "value")
            guard case .word(let word)? = context.op[attribute: "padding_mode"], PaddingMode(rawValue: word) != nil
            else {
                throw context.error("'padding_mode' must be one of \(PaddingMode.allCases.map(\.rawValue))")
            }
            if let count = context.steeringCount("padding"), count != 2 * x.rank {
                throw context.error("'padding' has \(count) entries for rank \(x.rank)")
            }
            guard let padding = context.steering("padding") else {
                return [.tensor(TensorType(x.scalar, context.dataDependentShape(rank: x.rank)))]
            }
            if let negative = padding.lazy.compactMap(\.constant).first(where: { $0 < 0 }) {
                throw context.error("'padding' has the negative count \(negative)")
            }
            if word == PaddingMode.constant.rawValue, x.rank == 1, let values = context.values(of: "x"),
                let value = context.values(of: "value")?.first,
                let before = padding[0].constant, let after = padding[1].constant, before + after + values.count <= 64
            {
                func repeated(_ count: Int) -> [Dimension] { Array(repeating: value, count: count) }
                context.resultValues = [repeated(before) + values + repeated(after)]
            }
            let sizes = x.shape.indices.map { padding[2 * $0] + x.shape[$0] + padding[2 * $0 + 1] }
            return [.tensor(TensorType(x.scalar, try context.checkedShape(sizes, "padding")))]
        },
        reference: { context throws(KernelError) in
            let (x, result) = (context.tensor("x"), context.results[0])
            let padding = try context.integers("padding")
            guard let mode = context.word("padding_mode").flatMap(PaddingMode.init(rawValue:)),
                padding.count == 2 * x.rank
            else { throw KernelError("'padding' must have \(2 * x.rank) entries and a known mode") }
            for axis in 0..<x.rank {
                let (before, after) = (padding[2 * axis], padding[2 * axis + 1])
                guard before >= 0, after >= 0, before <= result.shape[axis],
                    after == result.shape[axis] - x.shape[axis] - before
                else {
                    throw KernelError(
                        "padding \(before), \(after) does not take \(x.shape[axis]) to \(result.shape[axis])")
                }
            }
            if mode == .constant {
                fillElements(result, with: context.tensor("value").base)
                let strides = result.strides
                let offset = (0..<x.rank).reduce(0) { $0 + padding[2 * $1] * strides[$1] }
                guard x.count > 0 else { return }
                let byteStride = x.scalar.byteStride
                copyElements(
                    x.shape, byteStride: byteStride, from: StridedSide(x),
                    to: StridedSide(result).advanced(by: offset, byteStride: byteStride))
                return
            }
            guard result.count > 0 else { return }
            var sources: [[Int]] = []
            for axis in 0..<x.rank {
                sources.append(
                    try mode.sources(
                        size: x.shape[axis], before: padding[2 * axis], after: padding[2 * axis + 1], axis: axis))
            }
            selectElements(x, sources, into: result)
        },
        examples: [
            example(.constant, [0, 1, 2, 3, 0, 0]), example(.replicate, [1, 1, 2, 3, 3, 3]),
            example(.reflect, [2, 1, 2, 3, 2, 1]), example(.symmetric, [1, 1, 2, 3, 3, 2]),
            example(.circular, [3, 1, 2, 3, 1, 2]),
            Example(
                [.init(.int8, [0, 1], []), .init(.uint32, [4], [1, 0, 0, 1]), .init(.int8, [], [-5])],
                attributes: [.init("padding_mode", .word("constant"))], results: [.init(.int8, [1, 2], [-5, -5])]),
            Example(
                [
                    .init(.float32, [2, 2], [1, 2, 3, 4]), .init(.uint32, [4], [1, 0, 0, 1]), .init(.float32, [], [0]),
                ],
                attributes: [.init("padding_mode", .word("reflect"))],
                results: [.init(.float32, [3, 3], [3, 4, 3, 1, 2, 1, 3, 4, 3])]),
        ])
]

private func example(_ mode: PaddingMode, _ values: [Double]) -> Example {
    Example(
        [.init(.float32, [3], [1, 2, 3]), .init(.uint32, [2], [1, 2]), .init(.float32, [], [0])],
        attributes: [.init("padding_mode", .word(mode.rawValue))], results: [.init(.float32, [6], values)])
}

/// Where the elements outside come from.
enum PaddingMode: String, CaseIterable {
    case constant, replicate, reflect, symmetric, circular

    /// For each position along a padded axis, the position in the operand that it repeats.
    func sources(size: Int, before: Int, after: Int, axis: Int) throws(KernelError) -> [Int] {
        guard before + size + after <= 1 << 27 else {
            throw KernelError(
                "\(rawValue) padding takes axis \(axis) to \(before + size + after), at most 134217728 are supported")
        }
        let limit = self == .reflect ? size - 1 : self == .symmetric ? size : Int.max
        guard max(before, after) <= max(limit, 0), size > 0 || before + after == 0 else {
            throw KernelError(
                "\(rawValue) padding \(before), \(after) of axis \(axis) is more than its size \(size) allows")
        }
        return (0..<before + size + after).map { position in
            let index = position - before
            switch self {
            case .constant, .replicate: return min(max(index, 0), size - 1)
            case .reflect: return index < 0 ? -index : index >= size ? 2 * (size - 1) - index : index
            case .symmetric: return index < 0 ? -index - 1 : index >= size ? 2 * size - 1 - index : index
            case .circular:
                let remainder = index % size
                return remainder < 0 ? remainder + size : remainder
            }
        }
    }
}

/// For each position of `result`, the element of `x` at the position that `sources` names for each axis.
package func selectElements(_ x: HostTensor, _ sources: [[Int]], into result: HostTensor) {
    guard let inner = sources.last else {
        result.base.copyMemory(from: x.base, byteCount: x.byteCount)
        return
    }
    let strides = x.strides
    let outer = zip(sources, strides).dropLast().map { list, stride in list.map { $0 * stride } }

    func run<T: BitwiseCopyable>(_: T.Type) {
        let source = x.pointer(as: T.self)
        var target = result.pointer(as: T.self)
        var position = [Int](repeating: 0, count: outer.count)
        while true {
            let row = source + outer.indices.reduce(0) { $0 + outer[$1][position[$1]] }
            for index in inner.indices { target[index] = row[inner[index]] }
            target += inner.count
            var axis = outer.count - 1
            while axis >= 0 {
                position[axis] += 1
                if position[axis] < outer[axis].count { break }
                position[axis] = 0
                axis -= 1
            }
            if axis < 0 { return }
        }
    }
    guard result.count > 0 else { return }
    switch x.scalar.byteStride {
    case 1: run(UInt8.self)
    case 2: run(UInt16.self)
    case 4: run(UInt32.self)
    case 8: run(UInt64.self)
    default: run(SixteenBytes.self)
    }
}
