import CoreAIBackend
import CoreAIGraph
import CoreAIOps
import COpenBLAS
import Foundation

/// `conv2d` on floats of 16 and 32 bits (16-bit ones are widened): the windows of a few output rows are laid out as columns and multiplied by the weights.
let convolutionClaim = KernelClaim(
    ["primitive.conv2d_v1"],
    accepts: { op, operands, _ in
        guard operands.count >= 2, operands[0].scalar == .float32 || isNarrow(operands[0].scalar) else {
            return
                "operands are \(operands.first?.scalar.name ?? "none"), the kernel takes float16, bfloat16 and float32"
        }
        for name in ["stride", "dilation", "groups"] where op[attribute: name] == nil {
            return "\(name) is known only at run time"
        }
        guard let perGroup = operands[1].shape[1].constant else {
            return "the channels of a group are known only at run time"
        }
        if case .dimensions(let groups)? = op[attribute: "groups"], groups.first?.constant != 1, perGroup == 1 {
            return "depthwise: one channel a group is too thin for a matrix product"
        }
        return nil
    },
    makeKernel: { widening($0, convolve) })

@Sendable private func convolve(_ context: inout KernelContext) throws(KernelError) {
    let (x, weights, y) = (context.operands[0], context.operands[1], context.results[0])
    guard y.count > 0 else { return }
    let shape = try PlaneConvolution(context, x.shape, weights.shape, y.shape)
    let rowsPerTile = shape.rowsPerTile
    try checkBLASSizes(shape.outputsPerGroup, shape.plane, shape.depth, shape.height * shape.width)
    try checkScratch(shape.tileBytes * Double(WorkerPool.shared.width))
    let tiles = (shape.outputHeight + rowsPerTile - 1) / rowsPerTile
    let tasks = shape.batch * shape.groups * tiles
    let compute = { @Sendable (index: Int) in
        let tile = index % tiles
        let group = index / tiles % shape.groups
        let rows = tile * rowsPerTile..<min((tile + 1) * rowsPerTile, shape.outputHeight)
        shape.compute(
            x.pointer(as: Float.self), weights.pointer(as: Float.self), y.pointer(as: Float.self),
            image: index / tiles / shape.groups, group: group, rows: rows)
    }
    if shape.multiplications < Double(multiplicationsWorthSharing) {
        for index in 0..<tasks { compute(index) }
    } else {
        WorkerPool.shared.parallel(tasks, compute)
    }
}

/// The sizes of a two-dimensional convolution without padding.
private struct PlaneConvolution: Sendable {
    let batch, groups: Int
    let channelsPerGroup, outputsPerGroup: Int
    let height, width, outputHeight, outputWidth: Int
    let kernelHeight, kernelWidth: Int
    let strideY, strideX, dilationY, dilationX: Int

    init(_ context: KernelContext, _ x: [Int], _ weights: [Int], _ y: [Int]) throws(KernelError) {
        let strides = try context.integers("stride")
        let dilations = try context.integers("dilation")
        groups = try context.integer("groups")
        guard strides.count == 2, dilations.count == 2, groups > 0 else {
            throw KernelError(
                "expected two strides, two dilations and a group, found \(strides), \(dilations), \(groups)")
        }
        // A column (a signal stored as an image of width 1) is the same as a row, and rows are what memory holds together.
        let (row, column) = x[3] == 1 && weights[3] == 1 ? (1, 0) : (0, 1)
        (batch, height, width) = (x[0], x[2 + row], x[2 + column])
        channelsPerGroup = weights[1]
        outputsPerGroup = weights[0] / max(1, groups)
        (kernelHeight, kernelWidth) = (weights[2 + row], weights[2 + column])
        (outputHeight, outputWidth) = (y[2 + row], y[2 + column])
        (strideY, strideX) = (strides[row], strides[column])
        (dilationY, dilationX) = (dilations[row], dilations[column])
    }

    var depth: Int { channelsPerGroup * kernelHeight * kernelWidth }
    var tileBytes: Double { Double(depth) * Double(outputWidth) * Double(rowsPerTile) * 4 }
    var multiplications: Double { Double(batch * groups * outputsPerGroup) * Double(depth) * Double(plane) }
    var plane: Int { outputHeight * outputWidth }
    /// A 1x1 window at every pixel: the image is its own matrix of columns.
    private var isPointwise: Bool { kernelHeight == 1 && kernelWidth == 1 && strideY == 1 && strideX == 1 }

    /// So many output rows that their columns stay within a second-level cache, and that every worker gets some.
    var rowsPerTile: Int {
        let fitting = max(1, (1 << 18) / max(1, depth * outputWidth))
        let workers = WorkerPool.shared.width
        let tasks = max(1, workers / max(1, batch * groups))
        return min(fitting, max(1, (outputHeight + tasks - 1) / tasks))
    }

    func compute(
        _ x: UnsafePointer<Float>, _ weights: UnsafePointer<Float>, _ y: UnsafeMutablePointer<Float>,
        image: Int, group: Int, rows: Range<Int>
    ) {
        let source = x + (image * groups + group) * channelsPerGroup * height * width
        let result = y + (image * groups + group) * outputsPerGroup * plane + rows.lowerBound * outputWidth
        let pixels = rows.count * outputWidth
        if isPointwise {
            multiply(weights, group, source + rows.lowerBound * width, height * width, result, pixels)
        } else {
            withUnsafeTemporaryAllocation(of: Float.self, capacity: depth * pixels) { columns in
                guard let base = columns.baseAddress else { return }
                fill(base, source, rows)
                multiply(weights, group, base, pixels, result, pixels)
            }
        }
    }

    private func multiply(
        _ weights: UnsafePointer<Float>, _ group: Int, _ columns: UnsafePointer<Float>, _ columnStride: Int,
        _ result: UnsafeMutablePointer<Float>, _ pixels: Int
    ) {
        cblas_sgemm(
            CblasRowMajor, CblasNoTrans, CblasNoTrans, Int32(outputsPerGroup), Int32(pixels), Int32(depth), 1,
            weights + group * outputsPerGroup * depth, Int32(depth), columns, Int32(columnStride), 0, result,
            Int32(plane))
    }

    /// One row of `columns` for each channel and tap: the values that tap meets at each output pixel.
    private func fill(_ columns: UnsafeMutablePointer<Float>, _ source: UnsafePointer<Float>, _ rows: Range<Int>) {
        var target = columns
        for channel in 0..<channelsPerGroup {
            for tapY in 0..<kernelHeight {
                for tapX in 0..<kernelWidth {
                    for row in rows {
                        let line =
                            source + (channel * height + row * strideY + tapY * dilationY) * width + tapX * dilationX
                        if strideX == 1 {
                            target.update(from: line, count: outputWidth)
                        } else {
                            for column in 0..<outputWidth { target[column] = line[column * strideX] }
                        }
                        target += outputWidth
                    }
                }
            }
        }
    }
}
