import CoreAIBackend
import CoreAIGraph
import CoreAIOps

/// `gather_nd` by one constant index vector picks one block: a slice, which kernels can read where it lies.
func raiseSlices(_ rewriter: inout GraphRewriter) throws(BackendError) {
    try rewriter.rewriteOps { (rewriter, op) throws(BackendError) in
        guard op.name == "primitive.gather_nd_v1", op.operands.count == 2,
            let shape = rewriter.type(op.operands[0]).staticShape,
            let result = rewriter.type(op.results[0]).staticShape,
            let vector = rewriter.type(op.operands[1]).staticShape, vector.count == 1,
            rewriter.type(op.operands[1]).scalar.isInteger, !rewriter.type(op.operands[1]).scalar.isSubByte,
            let indices = try rewriter.constants.withTensor(
                op.operands[1],
                { (tensor) throws(BackendError) in
                    tensor.integers
                }),
            indices.count <= shape.count, result == Array(shape[indices.count...]),
            zip(indices, shape).allSatisfy({ $0 >= 0 && $0 < $1 })
        else { return [op] }
        let starts = indices + Array(repeating: 0, count: shape.count - indices.count)
        let ends = indices.map { $0 + 1 } + shape[indices.count...]
        let sizes = Array(repeating: 1, count: indices.count) + result
        let value = rewriter.graph.makeValue(
            .tensor(TensorType(rewriter.type(op.operands[0]).scalar, sizes.map { Dimension($0) })))
        var slice = Op(
            "primitive.slice_v1", operands: [op.operands[0]], results: [value], location: op.location)
        slice.set("start", starts)
        slice.set("end", ends)
        slice.set("stride", Array(repeating: 1, count: shape.count))
        return [slice, rewriter.reshape(value, to: op.results[0], like: op)]
    }
}
