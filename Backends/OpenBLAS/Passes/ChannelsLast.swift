import CoreAIBackend
import CoreAIGraph
import CoreAIOps

/// Decides which images are stored channels last, by regions: from the ops that want it (convolutions, pooling) through
/// all that do not care, and turns images round only at a region's border.
func storeChannelsLast(_ rewriter: inout GraphRewriter) throws(BackendError) {
    let turned = valuesToTurn(rewriter)
    guard !turned.isEmpty else { return }
    var plain: [ValueID: ValueID] = [:]
    var last: [ValueID: ValueID] = [:]
    let inputs = Set(rewriter.graph.inputs.map(\.value) + rewriter.graph.states.map(\.input))
    /// Values whose stored type is channels last.
    let stored = turned.subtracting(inputs).filter { !rewriter.constants.contains($0) }
    for value in stored {
        let type = rewriter.type(value)
        rewriter.graph.values[value.index].type = .tensor(
            TensorType(type.scalar, toLast.map { type.shape[$0] }))
    }
    try rewriter.rewriteOps { (rewriter, op) throws(BackendError) in
        var ops: [Op] = []
        var op = op
        if op.results.contains(where: turned.contains) {
            for (index, operand) in op.operands.enumerated() where takesImage(op, index, rewriter) {
                if stored.contains(operand) { continue }
                if let known = last[operand] {
                    op.operands[index] = known
                    continue
                }
                let turnedOperand = try turn(&rewriter, operand, &ops, like: op)
                last[operand] = turnedOperand
                op.operands[index] = turnedOperand
            }
            turnAttributes(&op)
        } else {
            for (index, operand) in op.operands.enumerated() where stored.contains(operand) {
                if plain[operand] == nil {
                    let (back, result) = rewriter.transpose(operand, toFirst, like: op)
                    ops.append(back)
                    plain[operand] = result
                }
                op.operands[index] = plain[operand] ?? operand
            }
        }
        return ops + [op]
    }
    /// What leaves the segment leaves it plain.
    func back(_ value: ValueID) -> ValueID {
        guard stored.contains(value) else { return value }
        if let known = plain[value], rewriter.graph.ops.contains(where: { $0.results == [known] }) { return known }
        let maker = rewriter.graph.ops.last { $0.results.contains(value) } ?? Op(transposeName)
        let (back, result) = rewriter.transpose(value, toFirst, like: maker)
        rewriter.graph.ops.append(back)
        plain[value] = result
        return result
    }
    for index in rewriter.graph.outputs.indices {
        rewriter.graph.outputs[index].value = back(rewriter.graph.outputs[index].value)
    }
    for index in rewriter.graph.states.indices {
        rewriter.graph.states[index].output = back(rewriter.graph.states[index].output)
    }
}

private let toLast = [0, 2, 3, 1]
private let toFirst = [0, 3, 1, 2]
/// Where axis n of a plain image is when channels are last.
private let axisWhenLast = [0, 3, 1, 2]

private let imageOps: Set<String> = ["cpu.conv2d", "cpu.max_pool2d", "cpu.sum_pool2d", "primitive.conv_transpose2d_v1"]

private func isImageOp(_ op: Op, _ rewriter: GraphRewriter) -> Bool {
    guard imageOps.contains(op.name) else { return false }
    return op.name != "primitive.conv_transpose2d_v1" || TransposedConvolution.canTake(op, rewriter)
}

/// Ops that compute the same on turned images, once their axes are turned too.
private func isIndifferent(_ op: Op, _ rewriter: GraphRewriter) -> Bool {
    guard op.results.allSatisfy({ rewriter.type($0).rank == 4 }) else { return false }
    if op.pointwise != nil { return true }
    switch op.name {
    case "primitive.concat_v1": return op.axes("dimension", rank: 4)?.count == 1
    case "cpu.take", "cpu.interpolate": return true
    case "primitive.pad_v1": return op.numbers("padding")?.count == 8
    case "primitive.slice_v1":
        return ["start", "end", "stride"].allSatisfy {
            if case .dimensions(let sizes)? = op[attribute: $0] { sizes.count == 4 } else { false }
        }
    case "reduce_mean_v1", "reduce_sum_v1", "reduce_max_v1", "reduce_min_v1": return op.axes("axes", rank: 4) != nil
    default: return false
    }
}

private func takesImage(_ op: Op, _ index: Int, _ rewriter: GraphRewriter) -> Bool {
    if op.pointwise != nil { return true }
    if op.name == "primitive.concat_v1" { return true }
    return index == 0
}

private func turnAttributes(_ op: inout Op) {
    func turnPairs(_ name: String) {
        guard case .dimensions(let sizes)? = op[attribute: name] else { return }
        op[attribute: name] = .dimensions(toLast.flatMap { [sizes[2 * $0], sizes[2 * $0 + 1]] })
    }
    func turnAxes(_ name: String) {
        guard let axes = op.axes(name, rank: 4) else { return }
        op.set(name, axes.map { axisWhenLast[$0] })
    }
    switch op.name {
    case "primitive.concat_v1": turnAxes("dimension")
    case "cpu.take": turnAxes("axis")
    case "cpu.interpolate":
        for name in ["scale", "offset"] {
            guard case .array(let numbers)? = op[attribute: name] else { continue }
            op[attribute: name] = .array(toLast.map { numbers[$0] })
        }
    case "primitive.pad_v1": turnPairs("padding")
    case "primitive.slice_v1":
        for name in ["start", "end", "stride"] {
            guard case .dimensions(let sizes)? = op[attribute: name] else { continue }
            op[attribute: name] = .dimensions(toLast.map { sizes[$0] })
        }
    case "reduce_mean_v1", "reduce_sum_v1", "reduce_max_v1", "reduce_min_v1": turnAxes("axes")
    case "primitive.conv_transpose2d_v1": op.name = "cpu.conv_transpose2d"
    default: break
    }
}

/// Images that belong to a region with an image op.
private func valuesToTurn(_ rewriter: GraphRewriter) -> Set<ValueID> {
    let graph = rewriter.graph
    var turned: Set<ValueID> = []
    var indifferent: [Op] = []
    for op in graph.ops {
        if isImageOp(op, rewriter) {
            turned.insert(op.operands[0])
            turned.formUnion(op.results)
        } else if isIndifferent(op, rewriter) {
            indifferent.append(op)
        }
    }
    func images(_ op: Op) -> [ValueID] {
        let operands = op.operands.indices.filter { takesImage(op, $0, rewriter) }.map { op.operands[$0] }
        return (operands + op.results).filter {
            rewriter.type($0).rank == 4 && !rewriter.constants.contains($0)
        }
    }
    let imagesOf = indifferent.map(images)
    var readers: [ValueID: [Int]] = [:]
    for (index, values) in imagesOf.enumerated() { for value in values { readers[value, default: []].append(index) } }
    var waiting = Array(turned)
    while let value = waiting.popLast() {
        // Whoever touches a turned image turns all it touches, once.
        for index in readers.removeValue(forKey: value) ?? [] {
            for other in imagesOf[index] where turned.insert(other).inserted { waiting.append(other) }
        }
    }
    // An op that is neither must not have its results turned.
    for op in graph.ops where !isImageOp(op, rewriter) && !isIndifferent(op, rewriter) { turned.subtract(op.results) }
    return turned
}

/// A plain operand as an image with its channels last; constants are turned here and now.
private func turn(_ rewriter: inout GraphRewriter, _ operand: ValueID, _ ops: inout [Op], like op: Op)
    throws(BackendError) -> ValueID
{
    var value = operand
    let type = rewriter.type(operand)
    var shape = type.shape
    while shape.count < 4 { shape.insert(1, at: 0) }
    if let turned = try turnedConstant(&rewriter, operand, type, shape) { return turned }
    if type.rank < 4 {
        let (reshape, result) = rewriter.reshape(value, shape, like: op)
        ops.append(reshape)
        value = result
    }
    let (transpose, result) = rewriter.transpose(value, toLast, like: op)
    ops.append(transpose)
    return result
}

private func turnedConstant(
    _ rewriter: inout GraphRewriter, _ operand: ValueID, _ type: TensorType, _ shape: [Dimension]
) throws(BackendError) -> ValueID? {
    let sizes = shape.compactMap(\.constant)
    guard sizes.count == 4, !type.scalar.isComplex else { return nil }
    let turnedSizes = toLast.map { sizes[$0] }
    let bytes = try rewriter.constants.withTensor(operand) { (tensor) throws(BackendError) in
        let stride = tensor.scalar.byteStride
        return Bytes(byteCount: tensor.byteCount) { memory in
            guard let target = memory.baseAddress else { return }
            let plane = sizes[2] * sizes[3]
            for image in 0..<sizes[0] {
                for pixel in 0..<plane {
                    for channel in 0..<sizes[1] {
                        let from = (image * sizes[1] + channel) * plane + pixel
                        let to = (image * plane + pixel) * sizes[1] + channel
                        (target + to * stride).copyMemory(from: tensor.base + from * stride, byteCount: stride)
                    }
                }
            }
        }
    }
    guard let bytes else { return nil }
    let turned = TensorType(type.scalar, turnedSizes.map { Dimension($0) })
    return rewriter.constants.add(bytes, turned, to: &rewriter.graph)
}
