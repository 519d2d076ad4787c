import CoreAIBackend
import CoreAIGraph
import CoreAIOps
import COpenBLAS

/// `conv_transpose2d` in one group, on floats of 16 and 32 bits: one matrix product gives every tap's contribution of every
/// pixel, which are then added where they belong.
let transposedConvolutionClaim = KernelClaim(
    ["primitive.conv_transpose2d_v1"],
    accepts: { op, operands, _ in
        guard operands.count >= 2, operands[0].scalar == .float32 || isNarrow(operands[0].scalar) else {
            return
                "operands are \(operands.first?.scalar.name ?? "none"), the kernel takes float16, bfloat16 and float32"
        }
        for name in ["stride", "padding", "dilation", "output_pad", "groups"] where op[attribute: name] == nil {
            return "\(name) is known only at run time"
        }
        guard case .dimensions(let groups)? = op[attribute: "groups"], groups.first?.constant == 1 else {
            return "several groups"
        }
        for name in ["stride", "padding", "dilation"] where op.numbers(name)?.allSatisfy({ $0 < 1 << 31 }) != true {
            return "\(name) is beyond 2147483647"
        }
        return nil
    },
    makeKernel: { widening($0, convolveTransposed) })

@Sendable private func convolveTransposed(_ context: inout KernelContext) throws(KernelError) {
    let (x, weights, y) = (context.operands[0], context.operands[1], context.results[0])
    let strides = try context.integers("stride")
    let padding = try context.integers("padding")
    let dilations = try context.integers("dilation")
    guard strides.count == 2, padding.count == 2, dilations.count == 2 else {
        throw KernelError("strides, padding and dilation need two numbers each")
    }
    guard y.count > 0 else { return }
    let (batch, channels, height, width) = (x.shape[0], x.shape[1], x.shape[2], x.shape[3])
    let (outputs, kernelHeight, kernelWidth) = (weights.shape[1], weights.shape[2], weights.shape[3])
    let (outputHeight, outputWidth) = (y.shape[2], y.shape[3])
    let (taps, pixels) = (kernelHeight * kernelWidth, height * width)
    try checkBLASSizes(outputs * taps, pixels, channels)
    let result = UnsafeSendable(y.pointer(as: Float.self))
    result.pointer.update(repeating: 0, count: y.count)
    guard channels > 0, taps > 0, pixels > 0 else { return }
    try checkScratch(Double(outputs) * Double(taps) * Double(pixels) * 4)
    let contributions = UnsafeSendable(UnsafeMutablePointer<Float>.allocate(capacity: outputs * taps * pixels))
    defer { contributions.pointer.deallocate() }
    for image in 0..<batch {
        // The weights lie [channel][output, tap]: transposed, they are the left factor.
        cblas_sgemm(
            CblasRowMajor, CblasTrans, CblasNoTrans, Int32(outputs * taps), Int32(pixels), Int32(channels), 1,
            weights.pointer(as: Float.self), Int32(outputs * taps),
            x.pointer(as: Float.self) + image * channels * pixels, Int32(pixels), 0, contributions.pointer,
            Int32(pixels))
        WorkerPool.shared.parallel(outputs) { output in
            let plane = result.pointer + (image * outputs + output) * outputHeight * outputWidth
            for tap in 0..<taps {
                let source = contributions.pointer + (output * taps + tap) * pixels
                let top = tap / kernelWidth * dilations[0] - padding[0]
                let left = tap % kernelWidth * dilations[1] - padding[1]
                for row in 0..<height {
                    let target = top + row * strides[0]
                    guard target >= 0, target < outputHeight else { continue }
                    let (line, values) = (plane + target * outputWidth, source + row * width)
                    // The columns that land inside.
                    let first = left >= 0 ? 0 : (-left + strides[1] - 1) / strides[1]
                    let last = min(width, (outputWidth - left + strides[1] - 1) / strides[1])
                    var column = first
                    while column < last {
                        line[left + column * strides[1]] += values[column]
                        column += 1
                    }
                }
            }
        }
    }
}
