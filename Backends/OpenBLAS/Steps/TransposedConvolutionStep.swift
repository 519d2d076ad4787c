import CKernels
import CoreAIBackend
import CoreAIGraph
import CoreAIOps

/// `conv_transpose2d` of images stored channels last: one product gives every tap's contribution of every pixel, which
/// is then added where it belongs.
enum TransposedConvolution {
    static func canTake(_ op: Op, _ rewriter: GraphRewriter) -> Bool {
        guard op.operands.count == 2, rewriter.type(op.operands[0]).scalar == .float32,
            rewriter.type(op.operands[0]).rank == 4, rewriter.constants.contains(op.operands[1]),
            op.numbers("groups") == [1], let strides = op.numbers("stride"), let pads = op.numbers("padding"),
            let dilations = op.numbers("dilation"), let weights = rewriter.type(op.operands[1]).staticShape,
            weights.count == 4, weights.allSatisfy({ $0 > 0 && $0 < 1 << 24 })
        else { return false }
        return strides.count == 2 && pads.count == 2 && dilations.count == 2
            && (strides + dilations).allSatisfy { $0 > 0 && $0 < 1 << 20 }
            && pads.allSatisfy { $0 >= 0 && $0 < 1 << 20 } && weights.reduce(1.0, { $0 * Double($1) }) < 1e9
    }

    /// Whether every output pixel has one input pixel: the taps just tile the stride.
    static func isTiling(_ op: Op, _ weights: [Int]) -> Bool {
        op.numbers("stride") == Array(weights[2...]) && op.numbers("dilation") == [1, 1]
            && op.numbers("padding") == [0, 0] && op.numbers("output_pad") == [0, 0]
    }

    /// A transposed convolution whose taps tile the stride: for each row of taps, a product that writes whole rows of the
    /// result, with what follows it.
    static func tiling(_ op: Op, weights: HostTensor, result: ValueID, tail: Tail) throws(BackendError) -> HostStep {
        let (channels, outputs) = (weights.shape[0], weights.shape[1])
        let (kernelHeight, kernelWidth) = (weights.shape[2], weights.shape[3])
        let columns = kernelWidth * outputs
        try checkSizes([columns])
        try checkRoom(forFloats: saturatingProduct([weights.count, 3]))
        let w = weights.pointer(as: Float.self)
        let panel = kernels.gemm_panel(Int32(columns))
        let ordered = try FloatBuffer(count: channels * columns)
        var packed: [FloatBuffer] = []
        for row in 0..<kernelHeight {
            for channel in 0..<channels {
                for tap in 0..<kernelWidth {
                    for output in 0..<outputs {
                        let from = ((channel * outputs + output) * kernelHeight + row) * kernelWidth + tap
                        ordered.base[channel * columns + tap * outputs + output] = w[from] * (tail.scale?[output] ?? 1)
                    }
                }
            }
            let buffer = try FloatBuffer(count: kernels.gemm_packed_count(Int32(channels), Int32(columns), panel))
            withExtendedLifetime(ordered) {
                kernels.gemm_pack(ordered.base, columns, 1, Int32(channels), Int32(columns), panel, buffer.base)
            }
            packed.append(buffer)
        }
        let bias = tail.bias.map { bias in FloatBuffer((0..<kernelWidth).flatMap { _ in bias }) }
        let (source, rows) = (op.operands[0], packed)
        return HostStep(
            op, name: (["conv_transpose2d product"] + tail.words).joined(separator: " + "),
            operands: [source] + tail.operands, results: [result]
        ) { (shapes) throws(BackendError) in
            let (x, y) = (shapes[source], shapes[result])
            guard y.allSatisfy({ $0 > 0 }) else { return HostCall { _ in } }
            try checkSizes(x + y)
            let tail = try PreparedTail(tail, bias: bias, shapes, result: y)
            let (width, line) = (x[2], y[2] * y[3])
            let lines = x[0] * x[1]
            let parts = partCount(lines, width, channels, columns, kernelHeight, atMost: lines)
            return HostCall { memory in
                inParts(parts) { part in
                    for row in share(lines, part, of: parts) {
                        for tap in 0..<kernelHeight {
                            let start = (row * kernelHeight + tap) * line
                            var panels = coreai_panels(
                                data: rows[tap].base, depth: Int32(channels), columns: Int32(columns), panel: panel)
                            var epilogue = tail.epilogue(memory, offset: start, stride: columns)
                            kernels.gemm(
                                memory.floats(source) + row * width * channels, channels, &panels, 0, Int32(columns),
                                memory.floats(result) + start, columns, Int32(width), &epilogue)
                        }
                        let start = row * kernelHeight * line
                        tail.finish(memory, memory.floats(result), start..<start + kernelHeight * line)
                    }
                }
            }
        }
    }

    static func make(_ op: Op, weights: HostTensor) throws(BackendError) -> HostStep? {
        guard let strides = op.numbers("stride"), let pads = op.numbers("padding"),
            let dilations = op.numbers("dilation")
        else { return nil }
        let (channels, outputs) = (weights.shape[0], weights.shape[1])
        let (kernelHeight, kernelWidth) = (weights.shape[2], weights.shape[3])
        let taps = kernelHeight * kernelWidth
        try checkSizes([outputs * taps])
        try checkRoom(forFloats: saturatingProduct([weights.count, 3]))
        // Columns in the order tap, output channel.
        let columns = outputs * taps
        let ordered = try FloatBuffer(count: channels * columns)
        let w = weights.pointer(as: Float.self)
        for channel in 0..<channels {
            for output in 0..<outputs {
                for tap in 0..<taps {
                    ordered.base[channel * columns + tap * outputs + output] =
                        w[(channel * outputs + output) * taps + tap]
                }
            }
        }
        let panel = kernels.gemm_panel(Int32(columns))
        let packed = try FloatBuffer(count: kernels.gemm_packed_count(Int32(channels), Int32(columns), panel))
        withExtendedLifetime(ordered) {
            kernels.gemm_pack(ordered.base, columns, 1, Int32(channels), Int32(columns), panel, packed.base)
        }
        let (source, target) = (op.operands[0], op.results[0])
        return HostStep(op, name: "conv_transpose2d", operands: [source], results: [target]) {
            (shapes) throws(BackendError) in
            let (x, y) = (shapes[source], shapes[target])
            guard y.allSatisfy({ $0 > 0 }) else { return HostCall { _ in } }
            try checkSizes(x + y)
            let (height, width) = (x[1], x[2])
            // A band of input rows at a time keeps the contributions in the cache.
            let band = max(1, min(height, (1 << 16) / max(1, width * columns)))
            let yCount = y[1] * y[2] * y[3]
            let scratch = saturatingProduct([band, width, columns, 4])
            try HostBuffer.checkRoom(for: scratch)
            return HostCall(scratch: scratch) { memory in
                let contributions = memory.scratch.assumingMemoryBound(to: Float.self)
                for image in 0..<x[0] {
                    let from = memory.floats(source) + image * height * width * channels
                    let to = memory.floats(target) + image * yCount
                    to.update(repeating: 0, count: yCount)
                    for top in stride(from: 0, to: height, by: band) {
                        let rows = min(band, height - top)
                        product(
                            from + top * width * channels, packed, contributions, rows * width, channels, columns,
                            Int(panel))
                        for row in 0..<rows {
                            for tap in 0..<taps {
                                let line = (top + row) * strides[0] + tap / kernelWidth * dilations[0] - pads[0]
                                guard line >= 0, line < y[1] else { continue }
                                let left = tap % kernelWidth * dilations[1] - pads[1]
                                add(
                                    contributions + row * width * columns + tap * outputs, columns, outputs, width,
                                    to + line * y[2] * outputs, left, strides[1], y[2])
                            }
                        }
                    }
                }
            }
        }
    }

    private static func product(
        _ x: UnsafePointer<Float>, _ packed: FloatBuffer, _ y: UnsafeMutablePointer<Float>, _ rows: Int, _ depth: Int,
        _ columns: Int, _ panel: Int
    ) {
        let parts = partCount(rows, depth, columns, atMost: max(1, rows / 12))
        inParts(parts) { part in
            let range = share(rows, part, of: parts)
            var panels = coreai_panels(
                data: packed.base, depth: Int32(depth), columns: Int32(columns), panel: Int32(panel))
            var epilogue = coreai_epilogue()
            kernels.gemm(
                x + range.lowerBound * depth, depth, &panels, 0, Int32(columns), y + range.lowerBound * columns,
                columns,
                Int32(range.count), &epilogue)
        }
    }

    /// Adds a row of pixels' contributions of one tap.
    private static func add(
        _ source: UnsafePointer<Float>, _ sourceStride: Int, _ count: Int, _ pixels: Int,
        _ target: UnsafeMutablePointer<Float>, _ left: Int, _ stride: Int, _ limit: Int
    ) {
        for pixel in 0..<pixels {
            let column = left + pixel * stride
            guard column >= 0, column < limit else { continue }
            let (from, to) = (source + pixel * sourceStride, target + column * count)
            for channel in 0..<count { to[channel] += from[channel] }
        }
    }
}
