import CoreAIBackend
import CoreAIGraph
import CoreAIOps

/// Finds concatenations written as insertions: each part is padded to the full size and chosen by a mask that is true where
/// the part lies. Once the parts cover an axis, they become one `concat`.
func raiseConcats(_ rewriter: inout GraphRewriter) throws(BackendError) {
    var finder = InsertionFinder()
    try rewriter.rewriteOps { (rewriter, op) throws(BackendError) in
        finder.note(op, rewriter)
        guard let parts = finder.parts(of: op, rewriter), let first = parts.first,
            let size = rewriter.type(op.results[0]).shape[first.axis].constant
        else { return [op] }
        let sorted = parts.sorted { $0.range.lowerBound < $1.range.lowerBound }
        var end = 0
        for part in sorted {
            guard part.range.lowerBound == end else { return [op] }
            end = part.range.upperBound
        }
        guard end == size else { return [op] }
        if sorted.count == 1 {
            rewriter.replace(op.results[0], by: sorted[0].value)
            return []
        }
        return [
            Op(
                "primitive.concat_v1", operands: sorted.map(\.value), results: op.results,
                attributes: [NamedAttribute("dimension", .dimensions([Dimension(first.axis)]))], location: op.location)
        ]
    }
}

private struct InsertionFinder {
    struct Part {
        var value: ValueID
        var axis: Int
        var range: Range<Int>
    }

    private static let partLimit = 64

    /// Values padded along one axis.
    private var padded: [ValueID: Part] = [:]
    /// Masks that are true in one range of an axis; a mask that is true everywhere has no range.
    private var masks: [ValueID: (axis: Int, range: Range<Int>)] = [:]
    private var known: Set<ValueID> = []
    private var allTrue: Set<ValueID> = []
    private var inserted: [ValueID: [Part]] = [:]

    mutating func note(_ op: Op, _ rewriter: GraphRewriter) {
        switch op.name {
        case "primitive.broadcast_in_dims_v1", "primitive.broadcast_to_v1", reshapeName:
            if isAllTrue(op.operands[0], rewriter) { allTrue.insert(op.results[0]) }
        case "primitive.pad_v1":
            guard op[attribute: "padding_mode"] == .word("constant"), let pads = op.numbers("padding"),
                op.operands.count == 2, let shape = rewriter.type(op.operands[0]).staticShape,
                pads.allSatisfy({ $0 >= 0 && $0 < 1 << 30 })
            else { return }
            let axes = shape.indices.filter { pads[2 * $0] > 0 || pads[2 * $0 + 1] > 0 }
            guard axes.count == 1, let axis = axes.first else { return }
            let range = pads[2 * axis]..<pads[2 * axis] + shape[axis]
            padded[op.results[0]] = Part(value: op.operands[0], axis: axis, range: range)
            if isAllTrue(op.operands[0], rewriter), isAll(op.operands[1], equal: 0, rewriter) {
                masks[op.results[0]] = (axis, range)
                known.insert(op.results[0])
            }
        default: break
        }
    }

    /// The parts that an op chooses, those of the insertion before it included.
    mutating func parts(of op: Op, _ rewriter: GraphRewriter) -> [Part]? {
        guard op.name == "broadcasting_where_v1" || op.name == "primitive.where_v1", op.operands.count == 3,
            let part = padded[op.operands[1]],
            rewriter.type(op.operands[1]).shape == rewriter.type(op.results[0]).shape,
            let mask = mask(op.operands[0], rewriter), mask.axis == part.axis, mask.range == part.range,
            rewriter.type(op.operands[0]).rank == rewriter.type(op.results[0]).rank
        else { return nil }
        var parts = (inserted[op.operands[2]] ?? []).filter { $0.axis == part.axis && !$0.range.overlaps(part.range) }
        if rewriter.type(op.operands[2]).shape != rewriter.type(op.results[0]).shape { parts = [] }
        parts.append(part)
        // Each insertion keeps those before it.
        if parts.count <= Self.partLimit { inserted[op.results[0]] = parts }
        return parts
    }

    private mutating func mask(_ value: ValueID, _ rewriter: GraphRewriter) -> (axis: Int, range: Range<Int>)? {
        if !known.contains(value) {
            known.insert(value)
            masks[value] = Self.range(of: value, rewriter)
        }
        return masks[value]
    }

    private func isAllTrue(_ value: ValueID, _ rewriter: GraphRewriter) -> Bool {
        rewriter.type(value).scalar == .bool && (allTrue.contains(value) || isAll(value, equal: 1, rewriter))
    }

    private func isAll(_ value: ValueID, equal byte: UInt8, _ rewriter: GraphRewriter) -> Bool {
        guard Self.isSmallMask(value, rewriter) else { return false }
        let answer = try? rewriter.constants.withTensor(value) { tensor in
            UnsafeRawBufferPointer(start: tensor.base, count: tensor.byteCount).allSatisfy { $0 == byte }
        }
        return (answer ?? nil) ?? false
    }

    /// A few bytes may stand for a mask that is too large to look through.
    private static func isSmallMask(_ value: ValueID, _ rewriter: GraphRewriter) -> Bool {
        let type = rewriter.type(value)
        return type.scalar == .bool && (type.elementCount.constant ?? .max) < 1 << 26
    }

    /// The range of the one axis in which a constant mask is true.
    private static func range(of value: ValueID, _ rewriter: GraphRewriter) -> (axis: Int, range: Range<Int>)? {
        guard isSmallMask(value, rewriter) else { return nil }
        let found = try? rewriter.constants.withTensor(value) { tensor -> (Int, Range<Int>)? in
            guard tensor.count > 0 else { return nil }
            let bytes = tensor.pointer(as: UInt8.self)
            for axis in tensor.shape.indices where tensor.shape[axis] > 1 {
                let inner = tensor.shape[(axis + 1)...].reduce(1, *)
                let row = (0..<tensor.shape[axis]).map { bytes[$0 * inner] != 0 }
                guard let start = row.firstIndex(of: true), let last = row.lastIndex(of: true),
                    row[start...last].allSatisfy({ $0 }), last - start + 1 < row.count
                else { continue }
                let block = inner * tensor.shape[axis]
                for index in 0..<tensor.count where (bytes[index] != 0) != row[index % block / inner] { return nil }
                return (axis, start..<last + 1)
            }
            return nil
        }
        return (found ?? nil) ?? nil
    }
}
