import CoreAIBackend
import CoreAIGraph
import CoreAIOps

/// `interpolate` by constant scales and offsets as `cpu.interpolate`, which has them as attributes and so does not care how
/// its image is stored.
func raiseInterpolation(_ rewriter: inout GraphRewriter) throws(BackendError) {
    try rewriter.rewriteOps { (rewriter, op) throws(BackendError) in
        guard op.name == "primitive.interpolate_v1", op.operands.count == 3,
            rewriter.type(op.operands[0]).scalar == .float32, op[attribute: sizedByOpAttribute] == nil,
            let scale = rewriter.constants.floats(op.operands[1], limit: 16),
            let offset = rewriter.constants.floats(op.operands[2], limit: 16),
            scale.count == rewriter.type(op.operands[0]).rank, offset.count == scale.count
        else { return [op] }
        var raised = op
        raised.name = "cpu.interpolate"
        raised.operands = [op.operands[0]]
        raised[attribute: "output_shape"] = nil
        raised[attribute: "scale"] = .array(scale.map { .float(Double($0)) })
        raised[attribute: "offset"] = .array(offset.map { .float(Double($0)) })
        return [raised]
    }
}
