import CoreAIGraph

let transposedConvolutionDefinitions = [
    transposedConvolution(
        "primitive.conv_transpose2d_v1", axes: 2,
        examples: [
            Example(
                [
                    .init(.float32, [1, 1, 2, 2], [1, 2, 3, 4]), .init(.float32, [1, 1, 2, 2], [1, 10, 100, 1000]),
                    .init(.int32, [2], [1, 1]), .init(.int32, [2], [0, 0]), .init(.int32, [2], [1, 1]),
                    .init(.int32, [2], [0, 0]), .init(.int32, [], [1]),
                ], results: [.init(.float32, [1, 1, 3, 3], [1, 12, 20, 103, 1234, 2040, 300, 3400, 4000])]),
            // The far end, extended before both ends are trimmed, gets a real sum.
            Example(
                [
                    .init(.float16, [1, 1, 1, 2], [1, 2]), .init(.float16, [1, 1, 1, 3], [1, 2, 3]),
                    .init(.uint32, [2], [1, 2]), .init(.uint32, [2], [0, 1]), .init(.uint32, [2], [1, 1]),
                    .init(.uint32, [2], [0, 1]), .init(.uint32, [], [1]),
                ], results: [.init(.float16, [1, 1, 1, 4], [2, 5, 4, 6])]),
            // Two groups, taps two columns apart.
            Example(
                [
                    .init(.float32, [1, 2, 1, 2], [1, 2, 3, 4]), .init(.float32, [2, 1, 1, 2], [1, 10, 2, -1]),
                    .init(.int32, [2], [1, 1]), .init(.int32, [2], [0, 0]), .init(.int32, [2], [1, 2]),
                    .init(.int32, [2], [0, 0]), .init(.int32, [], [2]),
                ], results: [.init(.float32, [1, 2, 1, 4], [1, 2, 10, 20, 6, 8, -3, -4])]),
        ]),
    transposedConvolution(
        "primitive.conv_transpose3d_v1", axes: 3,
        examples: [
            Example(
                [
                    .init(.float32, [1, 1, 2, 1, 1], [1, 2]), .init(.float32, [1, 2, 2, 1, 1], [1, 10, 3, 30]),
                    .init(.int32, [3], [2, 1, 1]), .init(.int32, [3], [0, 0, 0]), .init(.int32, [3], [1, 1, 1]),
                    .init(.int32, [3], [0, 0, 0]), .init(.int32, [], [1]),
                ], results: [.init(.float32, [1, 2, 4, 1, 1], [1, 10, 2, 20, 3, 30, 6, 60])]),
            Example(
                [
                    .init(.float32, [1, 2, 1, 1, 2], [1, 2, 3, 4]), .init(.float32, [2, 1, 1, 1, 1], [1, 10]),
                    .init(.int32, [3], [1, 1, 2]), .init(.int32, [3], [0, 0, 0]), .init(.int32, [3], [1, 1, 1]),
                    .init(.int32, [3], [0, 0, 1]), .init(.int32, [], [1]),
                ], results: [.init(.float32, [1, 1, 1, 1, 4], [31, 0, 42, 0])]),
        ]),
]

private func transposedConvolution(_ name: String, axes: Int, examples: [Example]) -> OpDefinition {
    OpDefinition(
        name,
        summary:
            "Adds weights [C, O/groups, \(axes) axes], scaled by each element of x [N, C, \(axes) axes], to the result "
            + "at the element's position times the stride; padding trims both ends, output_pad extends the far one first.",
        signature: Signature([
            .data("x"), .data("weights"), .steering("stride"), .steering("padding"), .steering("dilation"),
            .steering("output_pad"), .steering("groups"),
        ]),
        inferTypes: { context throws(GraphError) in
            let (x, weights) = try context.convolved(axes)
            let stride = try context.spatial("stride", axes, atLeast: 1)
            let padding = try context.spatial("padding", axes, atLeast: 0)
            let dilation = try context.spatial("dilation", axes, atLeast: 1)
            let outputPad = try context.spatial("output_pad", axes, atLeast: 0)
            let channels = try context.same(x.shape[1], weights.shape[0], "the channels of 'x' and of 'weights'")
            let groups = try context.groups(of: channels)
            var shape = [x.shape[0], weights.shape[1] * Dimension(groups)]
            for axis in 0..<axes {
                let size = Window.reach(
                    x.shape[2 + axis], kernel: weights.shape[2 + axis], stride: stride[axis], dilation: dilation[axis],
                    padding: padding[axis], outputPad: outputPad[axis])
                if let count = size.constant, count < 0 {
                    throw context.error("padding \(padding[axis]) leaves size \(count) of spatial axis \(axis)")
                }
                shape.append(size)
            }
            return [.tensor(TensorType(x.scalar, try context.checkedShape(shape, "x")))]
        },
        reference: { context throws(KernelError) in
            let (x, weights, result) = (context.tensor("x"), context.tensor("weights"), context.results[0])
            let window = Window(
                kernel: Array(weights.shape.dropFirst(2)), stride: try context.spatial("stride", axes, atLeast: 1),
                dilation: try context.spatial("dilation", axes, atLeast: 1),
                padding: try context.spatial("padding", axes, atLeast: 0),
                outputPad: try context.spatial("output_pad", axes, atLeast: 0))
            let groups = try context.groups(of: weights.shape[0])
            var shape: [Int?] = [x.shape[0], (Dimension(weights.shape[1]) * Dimension(groups)).constant]
            for axis in 0..<axes {
                shape.append(
                    Window.reach(
                        Dimension(x.shape[2 + axis]), kernel: Dimension(window.kernel[axis]),
                        stride: window.stride[axis],
                        dilation: window.dilation[axis], padding: window.padding[axis],
                        outputPad: window.outputPad[axis]
                    ).constant)
            }
            guard shape == result.shape, x.shape[1] == weights.shape[0] else {
                throw KernelError("\(x.shape) scattered by \(weights.shape) is not \(result.shape)")
            }
            try x.scalar.perform(
                Scattering(x: x, weights: weights, result: result, window: window.withThreeAxes(), groups: groups))
        },
        tolerance: .sumOfMagnitudes(32), examples: examples)
}

/// A transposed convolution over three spatial axes.
private struct Scattering: LaneWork {
    let x: HostTensor
    let weights: HostTensor
    let result: HostTensor
    let window: Window
    let groups: Int

    func run<T: Lane>(as lane: T.Type) {
        T.reading(x) { source in
            T.reading(weights) { factors in
                T.writing(result) { target in
                    if x.count > 0, result.count > 0 { scatter(source, factors, to: target) }
                }
            }
        }
    }

    /// Adds the planes of all channels of the input to one plane of the result after the other, tap by tap.
    @inline(__always)
    private func scatter<T: Lane>(
        _ source: UnsafeMutablePointer<T>, _ factors: UnsafeMutablePointer<T>, to target: UnsafeMutablePointer<T>
    ) {
        let (input, output) = (x.shape.volume, result.shape.volume)
        let (inputChannels, outputsPerGroup) = (x.shape[1] / groups, weights.shape[1])
        let taps = window.kernel.reduce(1, *)
        for image in 0..<x.shape[0] {
            for channel in 0..<result.shape[1] {
                let plane = target + (image * result.shape[1] + channel) * output.count
                let first = channel / outputsPerGroup * inputChannels
                for inputChannel in first..<first + inputChannels {
                    scatterPlane(
                        source + (image * x.shape[1] + inputChannel) * input.count, input,
                        factors + (inputChannel * outputsPerGroup + channel % outputsPerGroup) * taps, to: plane, output
                    )
                }
            }
        }
    }

    @inline(__always)
    private func scatterPlane<T: Lane>(
        _ source: UnsafeMutablePointer<T>, _ input: Volume, _ factors: UnsafeMutablePointer<T>,
        to target: UnsafeMutablePointer<T>, _ output: Volume
    ) {
        var factor = factors
        let columnStride = window.stride[2]
        for z in 0..<window.kernel[0] {
            let depths = Reached(window, axis: 0, tap: z, input: input.depth, output: output.depth)
            for y in 0..<window.kernel[1] {
                let heights = Reached(window, axis: 1, tap: y, input: input.height, output: output.height)
                for column in 0..<window.kernel[2] {
                    let columns = Reached(window, axis: 2, tap: column, input: input.width, output: output.width)
                    let value = factor[0]
                    factor += 1
                    if columns.positions.isEmpty { continue }
                    for depth in depths.positions {
                        for height in heights.positions {
                            let from =
                                source + (depth * input.height + height) * input.width + columns.positions.lowerBound
                            let row = depths.target(of: depth) * output.height + heights.target(of: height)
                            let to = target + row * output.width + columns.target(of: columns.positions.lowerBound)
                            if columnStride == 1 {
                                addScaled(value, from, columns.positions.count, to: to)
                            } else {
                                for index in 0..<columns.positions.count {
                                    let place = index * columnStride
                                    to[place] = T.sum(to[place], T.product(value, from[index]))
                                }
                            }
                        }
                    }
                }
            }
        }
    }
}

/// The input positions along an axis from which a tap reaches into the result.
private struct Reached {
    let positions: Range<Int>
    private let stride: Int
    private let offset: Int

    init(_ window: Window, axis: Int, tap: Int, input: Int, output: Int) {
        stride = window.stride[axis]
        offset = tap * window.dilation[axis] - window.padding[axis]
        let low = offset >= 0 ? 0 : (-offset - 1) / stride + 1
        let high = output > offset ? (output - 1 - offset) / stride + 1 : 0
        positions = low..<max(low, min(input, high))
    }

    func target(of position: Int) -> Int { position * stride + offset }
}
