import CKernels
import CoreAIBackend
import CoreAIGraph
import CoreAIOps

/// A convolution of images stored channels last, its weights packed for the kernel that suits its shape.
final class ConvolutionStep: Sendable {
    enum Kind: String { case product, direct, winograd, depthwise }

    private let op: Op
    private let kind: Kind
    private let weightShape: [Int]
    private let groups: Int
    private let strides: [Int]
    private let dilations: [Int]
    private let pads: [Int]
    private let scalar: ScalarType
    private let panel: Int
    /// A buffer for each group.
    private let packed: PackedWeights
    private let bias: FloatBuffer?
    private let tail: Tail

    private init(
        _ op: Op, _ kind: Kind, _ weights: HostTensor, groups: Int, scalar: ScalarType, tail: Tail,
        _ packing: PackingJobs
    ) throws(BackendError) {
        self.op = op
        self.kind = kind
        self.groups = groups
        self.scalar = scalar
        self.tail = tail
        weightShape = weights.shape
        guard let strides = op.numbers("stride"), let dilations = op.numbers("dilation"), let pads = op.numbers("pads")
        else { throw BackendError(.invalidArgument, "a convolution without strides, dilations or pads") }
        (self.strides, self.dilations, self.pads) = (strides, dilations, pads)
        let panel = Int(kernels.gemm_panel(Int32(weights.shape[0] / groups)))
        self.panel = panel
        packed = packing.add { () throws(BackendError) in
            let widened = weights.scalar == .float32 ? nil : try Widening.widened(weights)
            defer { withExtendedLifetime(widened) {} }
            let floats =
                widened.map { HostTensor(.float32, weights.shape, UnsafeMutableRawPointer($0.base)) } ?? weights
            return try Self.pack(floats, kind, groups: groups, panel: panel, scale: tail.scale)
        }
        bias = tail.bias.map(FloatBuffer.init)
    }

    private static func pack(
        _ weights: HostTensor, _ kind: Kind, groups: Int, panel: Int, scale: [Float]?
    ) throws(BackendError) -> [FloatBuffer] {
        let (perGroup, channels, taps) = (
            weights.shape[0] / groups, weights.shape[1], weights.shape[2] * weights.shape[3]
        )
        let scaled = try scaledWeights(weights, scale)
        defer { withExtendedLifetime(scaled) {} }
        let w = scaled?.base ?? weights.pointer(as: Float.self)
        switch kind {
        case .depthwise:
            let buffer = try FloatBuffer(count: taps * groups)
            for channel in 0..<groups {
                for tap in 0..<taps { buffer.base[tap * groups + channel] = w[channel * taps + tap] }
            }
            return [buffer]
        case .winograd:
            let buffer = try FloatBuffer(count: kernels.winograd_packed_count(Int32(perGroup), Int32(channels)))
            kernels.winograd_pack(w, Int32(perGroup), Int32(channels), buffer.base)
            return [buffer]
        case .direct, .product:
            let count = kernels.gemm_packed_count(Int32(taps * channels), Int32(perGroup), Int32(panel))
            var buffers: [FloatBuffer] = []
            for group in 0..<groups {
                let buffer = try FloatBuffer(count: count)
                kernels.conv_pack(
                    w + group * perGroup * channels * taps, Int32(perGroup), Int32(channels), Int32(taps),
                    Int32(panel), buffer.base)
                buffers.append(buffer)
            }
            return buffers
        }
    }

    /// The step for `cpu.conv2d`, with what follows it.
    static func make(
        _ op: Op, x: TensorType, result: ValueID, resultType: TensorType, weights: HostTensor, tail: Tail,
        _ packing: PackingJobs
    ) throws(BackendError) -> HostStep {
        let groups = op.numbers("groups")?.first ?? 1
        // Widened, scaled and packed.
        try checkRoom(forFloats: saturatingProduct([weights.count, 3]))
        let kind = kind(op, weights.shape, groups, resultType)
        let step = try ConvolutionStep(op, kind, weights, groups: groups, scalar: x.scalar, tail: tail, packing)
        let input = op.operands[0]
        let name = "conv2d \(weights.shape[2])x\(weights.shape[3]) \(kind.rawValue)"
        return HostStep(
            op, name: ([name] + tail.words).joined(separator: " + "),
            operands: [input] + tail.operands, results: [result]
        ) { (shapes) throws(BackendError) in
            try step.prepare(shapes, input, result)
        }
    }

    private static func kind(_ op: Op, _ weights: [Int], _ groups: Int, _ result: TensorType) -> Kind {
        let (strides, dilations, pads) = (op.numbers("stride"), op.numbers("dilation"), op.numbers("pads") ?? [])
        if groups == weights[0], weights[1] == 1, groups > 1 { return .depthwise }
        let isPlain = strides == [1, 1] && dilations == [1, 1]
        if weights[2] == 1, weights[3] == 1, isPlain, pads.allSatisfy({ $0 == 0 }), groups == 1 { return .product }
        if weights[2] == 3, weights[3] == 3, isPlain, groups == 1, pads.allSatisfy({ $0 <= 1 }), weights[1] >= 16,
            weights[0] >= 16, let height = result.shape[1].constant, let width = result.shape[2].constant,
            height * width >= 196, height >= 4, width >= 4
        {
            return .winograd
        }
        return .direct
    }

    private static func scaledWeights(_ weights: HostTensor, _ scale: [Float]?) throws(BackendError) -> FloatBuffer? {
        guard let scale else { return nil }
        let buffer = try FloatBuffer(count: weights.count)
        let (source, perOutput) = (weights.pointer(as: Float.self), weights.count / max(1, weights.shape[0]))
        for output in 0..<weights.shape[0] {
            for index in output * perOutput..<(output + 1) * perOutput {
                buffer.base[index] = source[index] * scale[output]
            }
        }
        return buffer
    }

    // MARK: Running

    private func prepare(_ shapes: HostShapes, _ input: ValueID, _ result: ValueID) throws(BackendError) -> HostCall {
        let (x, y) = (shapes[input], shapes[result])
        guard y.allSatisfy({ $0 > 0 }) else { return HostCall { _ in } }
        try checkSizes(x + y + [saturatingProduct([x[1], x[2]]), saturatingProduct([y[1], y[2]])])
        let tail = try PreparedTail(self.tail, bias: bias, shapes, result: y)
        var shape = coreai_convolution(
            x, y, window: Array(weightShape[2...]), strides: strides, dilations: dilations, pads: pads)
        // A depthwise kernel takes all channels at once, the others those of a group.
        if kind != .depthwise {
            (shape.channels, shape.out_channels) = (Int32(weightShape[1]), Int32(weightShape[0] / groups))
        }
        let call = ConvolutionCall(
            shape: shape, kind: kind, groups: groups, panel: panel, packed: packed.buffers, batch: x[0],
            xCount: x[1] * x[2] * x[3], yCount: y[1] * y[2] * y[3], tail: tail)
        guard scalar == .float32 else {
            return widening(scalar, [(input, x.reduce(1, *))], (result, y.reduce(1, *)), scratch: call.scratchByteCount)
            {
                memory, inputs, output, scratch in
                call.run(memory, inputs[0], output, scratch)
            }
        }
        return HostCall(scratch: call.scratchByteCount) { memory in
            call.run(memory, memory.floats(input), memory.floats(result), memory.scratch)
        }
    }
}

/// A convolution of known sizes, cut into parts.
private struct ConvolutionCall: Sendable {
    let shape: coreai_convolution
    let kind: ConvolutionStep.Kind
    let groups: Int
    let panel: Int
    let packed: [FloatBuffer]
    let batch: Int
    let xCount: Int
    let yCount: Int
    let tail: PreparedTail

    /// What a part is made of: rows of pixels, tiles, or pixels.
    private let unitCount: Int
    private let tilesPerUnit: Int
    private let partsPerImage: Int
    /// Parts divide the output channels, not the image.
    private let splitsChannels: Bool
    private let scratchPerPart: Int

    init(
        shape: coreai_convolution, kind: ConvolutionStep.Kind, groups: Int, panel: Int, packed: [FloatBuffer],
        batch: Int, xCount: Int, yCount: Int, tail: PreparedTail
    ) {
        (self.shape, self.kind, self.groups, self.panel, self.packed) = (shape, kind, groups, panel, packed)
        (self.batch, self.xCount, self.yCount, self.tail) = (batch, xCount, yCount, tail)
        let (height, width) = (Int(shape.out_height), Int(shape.out_width))
        let (channels, pixels) = (Int(shape.out_channels), height * width)
        var tilesPerUnit = 1
        switch kind {
        case .depthwise: unitCount = height
        case .winograd:
            // A chain runs over whole rows, so parts must not share a row of tiles.
            tilesPerUnit = tail.rest == nil ? 1 : (width + 3) / 4
            unitCount = ((height + 3) / 4) * ((width + 3) / 4) / tilesPerUnit
        case .direct, .product: unitCount = pixels
        }
        let taps = Int(shape.kernel_height * shape.kernel_width)
        let depth = kind == .depthwise ? taps : taps * Int(shape.channels)
        let multiplications = saturatingProduct([pixels, channels, kind == .depthwise ? 1 : groups, depth])
        let panels = (channels + panel - 1) / panel
        let threads = WorkerPool.shared.width
        splitsChannels =
            (kind == .direct || kind == .product) && groups == 1 && batch == 1 && panels >= threads
            && (pixels < 64 * threads || channels > 2 * pixels) && partCount(multiplications, atMost: panels) > 1
        if splitsChannels {
            partsPerImage = partCount(multiplications, atMost: panels)
        } else {
            let grain =
                switch kind {
                case .depthwise: 1
                case .winograd: max(1, 8 / tilesPerUnit)
                case .direct, .product: 24
                }
            var parts = partCount(multiplications, atMost: max(1, unitCount / grain))
            if tail.rest != nil {
                // A finished block is still in the cache when the rest of the chain runs over it.
                let blocks = (pixels * channels * groups * 4 + Self.blockByteCount - 1) / Self.blockByteCount
                parts = max(parts, min(blocks, max(1, unitCount / grain)))
            }
            partsPerImage = parts
        }
        let floats = kind == .winograd ? withUnsafePointer(to: shape) { kernels.winograd_scratch_count($0) } : 0
        scratchPerPart = alignedByteCount(floats: floats)
        self.tilesPerUnit = tilesPerUnit
    }

    private static let blockByteCount = 128 << 10

    /// Images whose parts run at once: one where a part needs memory of its own.
    private var imagesAtOnce: Int { scratchPerPart == 0 ? batch : 1 }
    var scratchByteCount: Int { scratchPerPart * partsPerImage }

    func run(
        _ memory: HostMemory, _ x: UnsafePointer<Float>, _ y: UnsafeMutablePointer<Float>,
        _ scratch: UnsafeMutableRawPointer
    ) {
        for first in stride(from: 0, to: batch, by: imagesAtOnce) {
            inParts(partsPerImage * imagesAtOnce) { index in
                let (image, part) = (first + index / partsPerImage, index % partsPerImage)
                run(memory, x, y, image, part, scratch + part * scratchPerPart)
            }
        }
        if splitsChannels { tail.finishInParts(memory, y, yCount * batch) }
    }

    private func run(
        _ memory: HostMemory, _ x: UnsafePointer<Float>, _ y: UnsafeMutablePointer<Float>, _ image: Int, _ part: Int,
        _ scratch: UnsafeMutableRawPointer
    ) {
        let stride = shape.y_stride
        let (xBase, yBase) = (x + image * xCount, y + image * yCount)
        var epilogue = tail.epilogue(memory, offset: image * yCount, stride: stride)
        var shape = shape
        let channels = Int(shape.out_channels)
        let pixels = Int(shape.out_height) * Int(shape.out_width)
        if splitsChannels {
            let panels = share((channels + panel - 1) / panel, part, of: partsPerImage)
            convolve(
                &shape, xBase, yBase, 0, 0..<pixels,
                panels.lowerBound * panel..<min(channels, panels.upperBound * panel),
                &epilogue)
            return
        }
        let units = share(unitCount, part, of: partsPerImage)
        let width = Int(shape.out_width)
        switch kind {
        case .depthwise:
            kernels.depthwise(
                &shape, xBase, packed[0].base, yBase, Int32(units.lowerBound), Int32(units.upperBound), &epilogue)
            finish(memory, y, image, units.lowerBound * width..<units.upperBound * width)
        case .winograd:
            let tiles = units.lowerBound * tilesPerUnit..<units.upperBound * tilesPerUnit
            kernels.winograd(
                &shape, xBase, packed[0].base, yBase, Int32(tiles.lowerBound), Int32(tiles.upperBound),
                scratch.assumingMemoryBound(to: Float.self), &epilogue)
            guard tail.rest != nil else { return }
            finish(memory, y, image, units.lowerBound * 4 * width..<min(pixels, units.upperBound * 4 * width))
        case .direct, .product:
            for group in 0..<groups {
                convolve(&shape, xBase, yBase, group, units, 0..<channels, &epilogue)
            }
            finish(memory, y, image, units)
        }
    }

    private func convolve(
        _ shape: inout coreai_convolution, _ x: UnsafePointer<Float>, _ y: UnsafeMutablePointer<Float>, _ group: Int,
        _ pixels: Range<Int>, _ columns: Range<Int>, _ epilogue: inout coreai_epilogue
    ) {
        let channels = Int(shape.out_channels)
        var own = epilogue
        if group > 0 {
            own.bias = own.bias.map { $0 + group * channels }
            own.residual = own.residual.map { $0 + group * channels }
        }
        let depth = shape.kernel_height * shape.kernel_width * shape.channels
        var panels = coreai_panels(
            data: packed[group].base, depth: depth, columns: shape.out_channels, panel: Int32(panel))
        let target = y + group * channels
        if kind == .product {
            let stride = shape.y_stride
            own.residual = own.residual.map { $0 + pixels.lowerBound * stride }
            kernels.gemm(
                x + pixels.lowerBound * shape.x_stride, shape.x_stride, &panels, Int32(columns.lowerBound),
                Int32(columns.upperBound), target + pixels.lowerBound * stride, stride, Int32(pixels.count), &own)
            return
        }
        kernels.conv(
            &shape, x + group * Int(shape.channels), &panels, target, Int32(pixels.lowerBound),
            Int32(pixels.upperBound), Int32(columns.lowerBound), Int32(columns.upperBound), &own)
    }

    private func finish(_ memory: HostMemory, _ y: UnsafeMutablePointer<Float>, _ image: Int, _ pixels: Range<Int>) {
        guard tail.rest != nil else { return }
        let start = image * yCount
        let stride = shape.y_stride
        tail.finish(memory, y, start + pixels.lowerBound * stride..<start + pixels.upperBound * stride)
    }
}

/// Weights come from a file, where a few bytes may stand for very many.
func checkRoom(forFloats count: Int) throws(BackendError) {
    try HostBuffer.checkRoom(for: saturatingProduct([count, 4]))
}

/// Kernels count in 32 bits, and round up.
func checkSizes(_ sizes: [Int]) throws(BackendError) {
    if let size = sizes.first(where: { $0 >= 1 << 30 }) {
        throw BackendError(.unsupported, "the processor's kernels take sizes below 1073741824, found \(size)")
    }
}
