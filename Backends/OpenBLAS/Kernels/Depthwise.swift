import CoreAIBackend
import CoreAIGraph
import CoreAIOps

/// `conv2d` with one input channel to a group, on floats of 16 and 32 bits: each plane is convolved on its own, a tap at a
/// time over whole rows, the planes shared out over the worker pool.
let depthwiseClaim = KernelClaim(
    ["primitive.conv2d_v1"],
    accepts: { op, operands, _ in
        guard operands.count >= 2, operands[0].scalar == .float32 || isNarrow(operands[0].scalar) else {
            return
                "operands are \(operands.first?.scalar.name ?? "none"), the kernel takes float16, bfloat16 and float32"
        }
        for name in ["stride", "dilation", "groups"] where op[attribute: name] == nil {
            return "\(name) is known only at run time"
        }
        guard operands[1].shape[1].constant == 1 else { return "several channels a group" }
        return nil
    },
    makeKernel: { widening($0, convolveDepthwise) })

@Sendable private func convolveDepthwise(_ context: inout KernelContext) throws(KernelError) {
    let (x, weights, y) = (context.operands[0], context.operands[1], context.results[0])
    guard y.count > 0 else { return }
    let planes = try DepthwisePlanes(context, x.shape, weights.shape, y.shape)
    let (source, factors, result) = (
        UnsafeSendable(x.pointer(as: Float.self)), UnsafeSendable(weights.pointer(as: Float.self)),
        UnsafeSendable(y.pointer(as: Float.self))
    )
    let compute = { @Sendable (plane: Int) in
        planes.compute(plane, source.pointer, factors.pointer, result.pointer)
    }
    let count = y.shape[0] * y.shape[1]
    if Double(y.count) * Double(weights.shape[2] * weights.shape[3]) < Double(multiplicationsWorthSharing) {
        for plane in 0..<count { compute(plane) }
    } else {
        WorkerPool.shared.parallel(count, compute)
    }
}

/// Memory that the tasks of one kernel call write to in different places.
struct UnsafeSendable<Element>: @unchecked Sendable {
    let pointer: UnsafeMutablePointer<Element>
    init(_ pointer: UnsafeMutablePointer<Element>) { self.pointer = pointer }
}

private struct DepthwisePlanes: Sendable {
    let channels, outputs, outputsPerGroup: Int
    let height, width, outputHeight, outputWidth, kernelHeight, kernelWidth: Int
    let strideY, strideX, dilationY, dilationX: Int

    init(_ context: KernelContext, _ x: [Int], _ weights: [Int], _ y: [Int]) throws(KernelError) {
        let strides = try context.integers("stride")
        let dilations = try context.integers("dilation")
        let groups = try context.integer("groups")
        guard strides.count == 2, dilations.count == 2, groups > 0, groups == x[1] else {
            throw KernelError("\(groups) groups for \(x[1]) channels of one each")
        }
        (channels, height, width) = (x[1], x[2], x[3])
        (outputs, outputHeight, outputWidth) = (y[1], y[2], y[3])
        outputsPerGroup = max(1, outputs / groups)
        (kernelHeight, kernelWidth) = (weights[2], weights[3])
        (strideY, strideX) = (strides[0], strides[1])
        (dilationY, dilationX) = (dilations[0], dilations[1])
    }

    /// - Parameter plane: counts the output planes through the batch.
    func compute(
        _ plane: Int, _ x: UnsafeMutablePointer<Float>, _ weights: UnsafeMutablePointer<Float>,
        _ y: UnsafeMutablePointer<Float>
    ) {
        let (image, output) = (plane / outputs, plane % outputs)
        let source = x + (image * channels + output / outputsPerGroup) * height * width
        let taps = weights + output * kernelHeight * kernelWidth
        let result = y + plane * outputHeight * outputWidth
        for row in 0..<outputHeight {
            let line = result + row * outputWidth
            line.update(repeating: 0, count: outputWidth)
            for tapY in 0..<kernelHeight {
                let input = source + (row * strideY + tapY * dilationY) * width
                for tapX in 0..<kernelWidth {
                    let factor = taps[tapY * kernelWidth + tapX]
                    let shifted = input + tapX * dilationX
                    if strideX == 1 {
                        for column in 0..<outputWidth { line[column] += factor * shifted[column] }
                    } else {
                        for column in 0..<outputWidth { line[column] += factor * shifted[column &* strideX] }
                    }
                }
            }
        }
    }
}
