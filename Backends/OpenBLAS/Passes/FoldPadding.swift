import CoreAIBackend
import CoreAIGraph
import CoreAIOps

/// A zero border that `pad` puts around an image becomes the padding of the convolution that reads it: `cpu.conv2d` with
/// `pads` = top, bottom, left, right; the same for pooling, whose border must be what the pool ignores.
func foldPadding(_ rewriter: inout GraphRewriter) throws(BackendError) {
    var borders: [ValueID: (source: ValueID, pads: [Int], value: Float)] = [:]
    try rewriter.rewriteOps { (rewriter, op) throws(BackendError) in
        switch op.name {
        case "primitive.pad_v1":
            if let border = border(rewriter, op) { borders[op.results[0]] = border }
            return [op]
        case "primitive.conv2d_v1" where isConvolution(rewriter, op):
            var op = op
            op.name = "cpu.conv2d"
            op.set("pads", [0, 0, 0, 0])
            if let border = borders[op.operands[0]], border.value == 0 {
                op.operands[0] = border.source
                op.set("pads", border.pads)
            }
            return [op]
        case "primitive.max_pool_2d_v1", "primitive.sum_pool_2d_v1":
            guard rewriter.type(op.operands[0]).scalar == .float32, rewriter.type(op.operands[0]).rank == 4,
                PoolStep.canTake(op)
            else { return [op] }
            var pool = op
            let isMaximum = op.name.contains("max")
            pool.name = isMaximum ? "cpu.max_pool2d" : "cpu.sum_pool2d"
            pool.set("pads", [0, 0, 0, 0])
            if let border = borders[op.operands[0]],
                isMaximum ? border.value == -.infinity : border.value == 0
            {
                pool.operands[0] = border.source
                pool.set("pads", border.pads)
            }
            return [pool]
        default:
            return [op]
        }
    }
}

/// Whether the convolution has weights that can be packed once.
private func isConvolution(_ rewriter: GraphRewriter, _ op: Op) -> Bool {
    let (x, weights) = (rewriter.type(op.operands[0]), rewriter.type(op.operands[1]))
    guard [.float32, .float16, .bfloat16].contains(x.scalar), rewriter.constants.contains(op.operands[1]),
        let strides = op.numbers("stride"), let dilations = op.numbers("dilation"),
        let groups = op.numbers("groups")?.first,
        strides.count == 2, dilations.count == 2,
        let shape = weights.staticShape, shape.count == 4, groups > 0, shape.allSatisfy({ $0 > 0 }),
        shape[0] % groups == 0, x.rank == 4
    else { return false }
    let steps = strides + dilations
    // Each group is packed to whole panels, which for very many narrow ones is mostly air.
    let isDepthwise = shape[1] == 1 && shape[0] == groups
    guard steps.allSatisfy({ $0 > 0 && $0 < 1 << 20 }), isDepthwise || groups <= 4096,
        max(shape[2], shape[3]) < 1 << 10 || steps.allSatisfy({ $0 < 1 << 6 })
    else { return false }
    return shape.allSatisfy { $0 < 1 << 24 } && shape.reduce(1.0, { $0 * Double($1) }) < 1e9
}

private func border(_ rewriter: GraphRewriter, _ op: Op) -> (ValueID, [Int], Float)? {
    guard op[attribute: "padding_mode"] == .word("constant"), let pads = op.numbers("padding"), pads.count == 8,
        pads[0..<4].allSatisfy({ $0 == 0 }), pads[4...].allSatisfy({ $0 >= 0 && $0 < 1 << 20 }),
        op.operands.count == 2
    else { return nil }
    let type = rewriter.type(op.operands[1])
    let value: Float? =
        if type.scalar == .float32 {
            rewriter.constants.floats(op.operands[1], limit: 1)?.first
        } else {
            (try? rewriter.constants.withTensor(op.operands[1]) { tensor in
                let bytes = UnsafeRawBufferPointer(start: tensor.base, count: tensor.byteCount)
                return bytes.allSatisfy { $0 == 0 } ? Float(0) : nil
            }).flatMap { $0 }.flatMap { $0 }
        }
    return value.map { (op.operands[0], Array(pads[4...]), $0) }
}
