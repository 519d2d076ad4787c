import CoreAIGraph

let convolutionDefinitions = [
    convolution(
        "primitive.conv2d_v1", axes: 2,
        examples: [
            Example(
                [
                    .init(.float32, [1, 1, 3, 3], [1, 2, 3, 4, 5, 6, 7, 8, 9]),
                    .init(.float32, [1, 1, 2, 2], [1, 0, 0, 1]),
                    .init(.int32, [2], [1, 1]), .init(.int32, [2], [1, 1]), .init(.int32, [], [1]),
                ], results: [.init(.float32, [1, 1, 2, 2], [6, 8, 12, 14])]),
            // Two groups; every second column, taps two columns apart.
            Example(
                [
                    .init(.float16, [1, 2, 1, 5], [1, 2, 3, 4, 5, 10, 20, 30, 40, 50]),
                    .init(.float16, [2, 1, 1, 2], [1, 1, 1, -1]), .init(.uint32, [2], [1, 2]),
                    .init(.uint32, [2], [1, 2]),
                    .init(.uint32, [], [2]),
                ], results: [.init(.float16, [1, 2, 1, 2], [4, 8, -20, -20])]),
            Example(
                [
                    .init(.float32, [0, 1, 2, 2], []), .init(.float32, [1, 1, 1, 1], [1]), .init(.int32, [2], [1, 1]),
                    .init(.int32, [2], [1, 1]), .init(.int32, [], [1]),
                ], results: [.init(.float32, [0, 1, 2, 2], [])]),
            Example(
                [
                    .init(.cfloat32, [1, 1, 1, 1], [1, 2]), .init(.cfloat32, [1, 1, 1, 1], [3, -1]),
                    .init(.int32, [2], [1, 1]), .init(.int32, [2], [1, 1]), .init(.int32, [], [1]),
                ], results: [.init(.cfloat32, [1, 1, 1, 1], [5, 5])]),
        ]),
    convolution(
        "primitive.conv3d_v1", axes: 3,
        examples: [
            Example(
                [
                    .init(.float32, [1, 1, 2, 2, 2], [1, 2, 3, 4, 5, 6, 7, 8]),
                    .init(.float32, [1, 1, 2, 1, 1], [1, 10]),
                    .init(.int32, [3], [1, 1, 1]), .init(.int32, [3], [1, 1, 1]), .init(.int32, [], [1]),
                ], results: [.init(.float32, [1, 1, 1, 2, 2], [51, 62, 73, 84])]),
            Example(
                [
                    .init(.float32, [1, 2, 1, 1, 3], [1, 2, 3, 4, 5, 6]), .init(.float32, [1, 2, 1, 1, 1], [1, 2]),
                    .init(.int32, [3], [1, 1, 2]), .init(.int32, [3], [1, 1, 1]), .init(.int32, [], [1]),
                ], results: [.init(.float32, [1, 1, 1, 1, 2], [9, 15])]),
        ]),
]

private func convolution(_ name: String, axes: Int, examples: [Example]) -> OpDefinition {
    OpDefinition(
        name,
        summary:
            "Slides weights [O, C/groups, \(axes) axes] over x [N, C, \(axes) axes] without padding and adds up the "
            + "products; narrow floats add up in float32.",
        signature: Signature([
            .data("x"), .data("weights"), .steering("stride"), .steering("dilation"), .steering("groups"),
        ]),
        inferTypes: { context throws(GraphError) in
            let (x, weights) = try context.convolved(axes)
            let stride = try context.spatial("stride", axes, atLeast: 1)
            let dilation = try context.spatial("dilation", axes, atLeast: 1)
            let groups = try context.groups(of: weights.shape[0])
            _ = try context.same(
                x.shape[1], weights.shape[1] * Dimension(groups),
                "the channels of 'x' and of 'weights' in \(groups) groups")
            var shape = [x.shape[0], weights.shape[0]]
            for axis in 0..<axes {
                let (size, taps) = (x.shape[2 + axis], weights.shape[2 + axis])
                let positions = Window.positions(size, kernel: taps, stride: stride[axis], dilation: dilation[axis])
                if let count = positions.constant, count < 1 {
                    throw context.error(
                        "\(taps) taps \(dilation[axis]) apart do not fit in size \(size) of spatial axis \(axis)")
                }
                shape.append(positions)
            }
            return [.tensor(TensorType(x.scalar, try context.checkedShape(shape, "x")))]
        },
        reference: { context throws(KernelError) in
            let (x, weights, result) = (context.tensor("x"), context.tensor("weights"), context.results[0])
            let window = Window(
                kernel: Array(weights.shape.dropFirst(2)), stride: try context.spatial("stride", axes, atLeast: 1),
                dilation: try context.spatial("dilation", axes, atLeast: 1), padding: [], outputPad: [])
            let groups = try context.groups(of: weights.shape[0])
            var shape: [Int?] = [x.shape[0], weights.shape[0]]
            for axis in 0..<axes {
                shape.append(
                    Window.positions(
                        Dimension(x.shape[2 + axis]), kernel: Dimension(window.kernel[axis]),
                        stride: window.stride[axis],
                        dilation: window.dilation[axis]
                    ).constant)
            }
            guard shape == result.shape, x.shape[1] == weights.shape[1] * groups else {
                throw KernelError("\(x.shape) convolved with \(weights.shape) is not \(result.shape)")
            }
            try x.scalar.perform(
                Convolution(x: x, weights: weights, result: result, window: window.withThreeAxes(), groups: groups))
        },
        tolerance: .sumOfMagnitudes(32), examples: examples)
}

/// A convolution over three spatial axes.
private struct Convolution: LaneWork {
    let x: HostTensor
    let weights: HostTensor
    let result: HostTensor
    let window: Window
    let groups: Int

    func run<T: Lane>(as lane: T.Type) {
        guard result.count > 0 else { return }
        T.reading(x) { source in
            T.reading(weights) { factors in
                T.writing(result) { target in convolve(source, factors, to: target) }
            }
        }
    }

    /// One row of the result after the other: all channels and taps are added to it while it is in the nearest cache.
    @inline(__always)
    private func convolve<T: Lane>(
        _ source: UnsafeMutablePointer<T>, _ factors: UnsafeMutablePointer<T>, to target: UnsafeMutablePointer<T>
    ) {
        var (input, output) = (x.shape.volume, result.shape.volume)
        if input.count == output.count, (window.kernel + window.stride).allSatisfy({ $0 == 1 }) {
            // Nothing tells one row from the next.
            input = Volume(depth: 1, height: 1, width: input.count)
            output = input
        }
        let (k, s, d) = (window.kernel, window.stride, window.dilation)
        let (kernelDepth, kernelHeight, kernelWidth) = (k[0], k[1], k[2])
        let (columnStride, columnStep) = (s[2], d[2])
        let (outputChannels, channels) = (weights.shape[0], weights.shape[1])
        let taps = kernelDepth * kernelHeight * kernelWidth
        var row = target
        for image in 0..<x.shape[0] {
            for channel in 0..<outputChannels {
                let group = channel / (outputChannels / groups)
                let first = (image * groups + group) * channels
                for depth in 0..<output.depth {
                    for height in 0..<output.height {
                        for inputChannel in 0..<channels {
                            let plane = source + (first + inputChannel) * input.count
                            var factor = factors + (channel * channels + inputChannel) * taps
                            for z in 0..<kernelDepth {
                                for y in 0..<kernelHeight {
                                    let line =
                                        plane
                                        + ((depth * s[0] + z * d[0]) * input.height + height * s[1] + y * d[1])
                                        * input.width
                                    for column in 0..<kernelWidth {
                                        let start = line + column * columnStep
                                        if columnStride == 1 {
                                            addScaled(factor[0], start, output.width, to: row)
                                        } else {
                                            for index in 0..<output.width {
                                                row[index] = T.sum(
                                                    row[index], T.product(factor[0], start[index * columnStride]))
                                            }
                                        }
                                        factor += 1
                                    }
                                }
                            }
                        }
                        row += output.width
                    }
                }
            }
        }
    }
}
