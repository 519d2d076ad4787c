import CoreAIBackend
import CoreAIGraph
import CoreAIOps

/// A slice that takes only what `pad` did not add reads what was padded, or all of it.
func cancelPadding(_ rewriter: inout GraphRewriter) throws(BackendError) {
    var padded: [ValueID: (source: ValueID, pads: [Int])] = [:]
    try rewriter.rewriteOps { (rewriter, op) throws(BackendError) in
        if op.name == "primitive.pad_v1", op[attribute: "padding_mode"] == .word("constant"),
            let pads = op.numbers("padding"), pads.allSatisfy({ $0 >= 0 }),
            rewriter.type(op.operands[0]).staticShape != nil
        {
            padded[op.results[0]] = (op.operands[0], pads)
        }
        guard op.name == "primitive.slice_v1", let pad = padded[op.operands[0]],
            let full = rewriter.type(op.operands[0]).staticShape, let shape = rewriter.type(pad.source).staticShape,
            let start = op.numbers("start"), let end = op.numbers("end"), let strides = op.numbers("stride"),
            start.count == shape.count, end.count == shape.count, strides == Array(repeating: 1, count: shape.count),
            pad.pads.count == 2 * shape.count
        else { return [op] }
        var ranges: [Range<Int>] = []
        for axis in shape.indices {
            let range = SliceRange(size: full[axis], start: start[axis], end: end[axis], stride: 1)
            let first = range.first - pad.pads[2 * axis]
            guard first >= 0, first + range.count <= shape[axis] else { return [op] }
            ranges.append(first..<first + range.count)
        }
        if zip(ranges, shape).allSatisfy({ $0 == 0..<$1 }) {
            rewriter.replace(op.results[0], by: pad.source)
            return []
        }
        var slice = op
        slice.operands[0] = pad.source
        slice.set("start", ranges.map(\.lowerBound))
        slice.set("end", ranges.map(\.upperBound))
        return [slice]
    }
}
