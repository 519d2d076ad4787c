import CKernels
import Foundation
import Testing

/// Products and convolutions of every level against plain sums in double precision.
@Suite struct ProductKernelTests {
    static let activations: [coreai_activation] = [
        COREAI_ACTIVATION_NONE, COREAI_ACTIVATION_CLAMP, COREAI_ACTIVATION_LEAKY, COREAI_ACTIVATION_HARD_SWISH,
        COREAI_ACTIVATION_HARD_SIGMOID, COREAI_ACTIVATION_SIGMOID, COREAI_ACTIVATION_SILU, COREAI_ACTIVATION_TANH,
        COREAI_ACTIVATION_GELU, COREAI_ACTIVATION_GELU_TANH,
    ]

    /// Rows, columns, depth: none, one, less and more than a tile, a panel, a vector; depths with and without parts.
    static let products: [(rows: Int, columns: Int, depth: Int)] = [
        (0, 5, 4), (1, 1, 1), (1, 100, 37), (1, 33, 3), (1, 7, 0), (2, 1, 5), (3, 17, 0), (4, 48, 16), (5, 64, 9),
        (6, 16, 31), (7, 50, 8), (9, 24, 33), (13, 96, 12), (14, 15, 21), (65, 31, 10), (79, 65, 7), (130, 80, 5),
        (1, 20, 1700), (5, 19, 1700), (3, 70, 2500),
    ]

    @Test(arguments: levels, products)
    func productIsTheSum(level: Level, shape: (rows: Int, columns: Int, depth: Int)) {
        var random = Random(seed: 1)
        let (rows, columns, depth) = shape
        let kernels = level.kernels
        for (index, activation) in Self.activations.enumerated() {
            let (aStride, cStride) = (depth + index % 3, columns + index % 4)
            let a = random.floats(rows * aStride)
            let b = random.floats(depth * columns, scale: 2 / Float(depth + 1).squareRoot())
            let transposed = index % 2 == 1
            let panel = Int(kernels.gemm_panel(Int32(columns)))
            let packed = Packed(kernels.gemm_packed_count(Int32(depth), Int32(columns), Int32(panel))) {
                kernels.gemm_pack(
                    b, transposed ? 1 : columns, transposed ? depth : 1, Int32(depth), Int32(columns), Int32(panel), $0)
            }
            // All columns at once, or a call for each panel.
            let bounds = index % 3 == 0 ? Array(stride(from: 0, to: columns, by: panel)) + [columns] : [0, columns]
            check("\(level) \(shape) activation \(index)", rows, columns, cStride, activation, index, &random) {
                c, epilogue in
                var panels = coreai_panels(
                    data: packed.base, depth: Int32(depth), columns: Int32(columns), panel: Int32(panel))
                for (first, last) in zip(bounds, bounds.dropFirst()) {
                    kernels.gemm(
                        a, aStride, &panels, Int32(first), Int32(last), c, cStride, Int32(rows), &epilogue)
                }
            } sum: { row, column in
                (0..<depth).reduce(0.0) { sum, k in
                    let weight = transposed ? b[column * depth + k] : b[k * columns + column]
                    return sum + Double(a[row * aStride + k]) * Double(weight)
                }
            }
        }
    }

    static let convolutions: [Convolution] = [
        Convolution(5, 6, 3, to: 8, kernel: (3, 3), pad: (1, 1, 1, 1)),
        Convolution(23, 21, 3, to: 64, kernel: (7, 7), stride: (2, 2), pad: (3, 3, 3, 3)),
        Convolution(9, 11, 1, to: 5, kernel: (5, 4), stride: (1, 2), pad: (0, 1, 2, 3)),
        Convolution(8, 8, 17, to: 33, kernel: (1, 1)),
        Convolution(8, 9, 20, to: 50, kernel: (1, 1), stride: (2, 3)),
        Convolution(4, 4, 6, to: 7, kernel: (1, 1), pad: (1, 1, 1, 1)),
        Convolution(7, 7, 40, to: 24, kernel: (3, 3), pad: (1, 1, 1, 1)),
        Convolution(10, 12, 12, to: 16, kernel: (3, 3), dilation: (2, 2), pad: (2, 2, 2, 2)),
        Convolution(10, 12, 3, to: 16, kernel: (3, 3), dilation: (3, 1), pad: (2, 1, 4, 1), gap: 2),
        Convolution(3, 3, 80, to: 70, kernel: (5, 5), pad: (3, 3, 3, 3)),
        Convolution(1, 60, 2, to: 9, kernel: (1, 90), pad: (0, 45, 0, 44)),
        Convolution(30, 2, 3, to: 4, kernel: (29, 31), pad: (14, 15, 14, 15)),
        Convolution(3, 3, 4100, to: 5, kernel: (2, 2), pad: (0, 1, 1, 0)),
        Convolution(6, 6, 300, to: 100, kernel: (3, 3), pad: (1, 1, 1, 1)),
    ]

    @Test(arguments: levels, convolutions)
    func convolutionIsTheSum(level: Level, shape: Convolution) {
        var random = Random(seed: 2)
        let kernels = level.kernels
        var description = shape.fields
        let (taps, panel) = (shape.taps, Int(kernels.gemm_panel(Int32(shape.outChannels))))
        let depth = taps * shape.channels
        let x = random.floats(shape.inputCount)
        let w = random.floats(shape.outChannels * depth, scale: 2 / Float(depth).squareRoot())
        let packed = Packed(kernels.gemm_packed_count(Int32(depth), Int32(shape.outChannels), Int32(panel))) {
            kernels.conv_pack(w, Int32(shape.outChannels), Int32(shape.channels), Int32(taps), Int32(panel), $0)
        }
        var panels = coreai_panels(
            data: packed.base, depth: Int32(depth), columns: Int32(shape.outChannels), panel: Int32(panel))
        for index in [0, 1, 5] {
            let middle = [0, shape.pixels / 3, shape.pixels][index % 3]
            let bounds = Array(stride(from: 0, to: shape.outChannels, by: panel)) + [shape.outChannels]
            check(
                "\(level) \(shape) \(index)", shape.pixels, shape.outChannels, shape.yStride, Self.activations[index],
                index, &random
            ) { y, epilogue in
                for (first, last) in zip(bounds, bounds.dropFirst()) {
                    kernels.conv(
                        &description, x, &panels, y, 0, Int32(middle), Int32(first), Int32(last), &epilogue)
                    kernels.conv(
                        &description, x, &panels, y, Int32(middle), Int32(shape.pixels), Int32(first), Int32(last),
                        &epilogue)
                }
            } sum: { pixel, channel in
                shape.sum(at: pixel) { tap, start in
                    (0..<shape.channels).reduce(0.0) {
                        $0 + Double(x[start + $1]) * Double(w[(channel * shape.channels + $1) * taps + tap])
                    }
                }
            }
        }
    }

    static let winogradConvolutions: [Convolution] = [
        Convolution(1, 1, 1, to: 1, kernel: (3, 3), pad: (1, 1, 1, 1)),
        Convolution(8, 8, 16, to: 16, kernel: (3, 3), pad: (1, 1, 1, 1)),
        Convolution(9, 14, 21, to: 37, kernel: (3, 3), pad: (0, 1, 1, 0)),
        Convolution(13, 6, 3, to: 65, kernel: (3, 3)),
        Convolution(25, 27, 40, to: 9, kernel: (3, 3), pad: (1, 1, 1, 1), gap: 3),
        Convolution(4, 5, 4100, to: 3, kernel: (3, 3), pad: (1, 0, 1, 1)),
    ]

    @Test(arguments: levels, winogradConvolutions)
    func winogradIsTheSum(level: Level, shape: Convolution) {
        var random = Random(seed: 3)
        let kernels = level.kernels
        var description = shape.fields
        let x = random.floats(shape.inputCount)
        let depth = 9 * shape.channels
        let w = random.floats(shape.outChannels * depth, scale: 2 / Float(depth).squareRoot())
        let packed = Packed(kernels.winograd_packed_count(Int32(shape.outChannels), Int32(shape.channels))) {
            kernels.winograd_pack(w, Int32(shape.outChannels), Int32(shape.channels), $0)
        }
        let scratch = Packed(kernels.winograd_scratch_count(&description)) { _ in }
        let tiles = (shape.outHeight + 3) / 4 * ((shape.outWidth + 3) / 4)
        for (index, activation) in Self.activations.enumerated() {
            check(
                "\(level) \(shape) \(index)", shape.pixels, shape.outChannels, shape.yStride, activation, index, &random
            ) { y, epilogue in
                for (first, last) in [(0, tiles / 3), (tiles / 3, tiles)] {
                    kernels.winograd(
                        &description, x, packed.base, y, Int32(first), Int32(last), scratch.base, &epilogue)
                }
            } sum: { pixel, channel in
                shape.sum(at: pixel) { tap, start in
                    (0..<shape.channels).reduce(0.0) {
                        $0 + Double(x[start + $1]) * Double(w[(channel * shape.channels + $1) * 9 + tap])
                    }
                }
            }
        }
    }

    static let depthwiseConvolutions: [Convolution] = [
        Convolution(1, 1, 1, to: 1, kernel: (3, 3), pad: (1, 1, 1, 1)),
        Convolution(7, 7, 40, to: 40, kernel: (3, 3), pad: (1, 1, 1, 1)),
        Convolution(12, 17, 24, to: 24, kernel: (3, 3), stride: (2, 2), pad: (0, 0, 1, 1)),
        Convolution(9, 10, 19, to: 19, kernel: (5, 5), pad: (2, 2, 2, 2), gap: 1),
        Convolution(11, 33, 16, to: 16, kernel: (5, 5), stride: (2, 2), pad: (2, 2, 2, 2)),
        Convolution(8, 9, 70, to: 70, kernel: (3, 3), stride: (2, 1), pad: (1, 1, 1, 1)),
        Convolution(15, 16, 35, to: 35, kernel: (7, 7), pad: (3, 3, 3, 3)),
        Convolution(10, 12, 13, to: 13, kernel: (3, 3), dilation: (2, 3), pad: (2, 3, 2, 3)),
        Convolution(6, 30, 5, to: 5, kernel: (1, 9), stride: (1, 3), pad: (0, 4, 0, 4)),
        Convolution(3, 4, 4111, to: 4111, kernel: (3, 3), pad: (1, 1, 1, 1)),
    ]

    @Test(arguments: levels, depthwiseConvolutions)
    func depthwiseIsTheSum(level: Level, shape: Convolution) {
        var random = Random(seed: 4)
        var description = shape.fields
        let x = random.floats(shape.inputCount)
        let w = random.floats(shape.taps * shape.channels, scale: 2 / Float(shape.taps).squareRoot())
        for (index, activation) in Self.activations.enumerated() {
            check(
                "\(level) \(shape) \(index)", shape.pixels, shape.channels, shape.yStride, activation, index, &random
            ) { y, epilogue in
                for (first, last) in [(0, shape.outHeight / 2), (shape.outHeight / 2, shape.outHeight)] {
                    level.kernels.depthwise(&description, x, w, y, Int32(first), Int32(last), &epilogue)
                }
            } sum: { pixel, channel in
                shape.sum(at: pixel) { tap, start in
                    Double(x[start + channel]) * Double(w[tap * shape.channels + channel])
                }
            }
        }
    }

    @Test(arguments: levels, [COREAI_ACTIVATION_NONE, COREAI_ACTIVATION_CLAMP, COREAI_ACTIVATION_HARD_SIGMOID])
    func notANumberStaysOne(level: Level, activation: coreai_activation) {
        let kernels = level.kernels
        let (depth, columns) = (3, 20)
        let panel = kernels.gemm_panel(Int32(columns))
        let packed = Packed(kernels.gemm_packed_count(Int32(depth), Int32(columns), panel)) {
            let ones = [Float](repeating: 1, count: depth * columns)
            kernels.gemm_pack(ones, columns, 1, Int32(depth), Int32(columns), panel, $0)
        }
        var panels = coreai_panels(data: packed.base, depth: Int32(depth), columns: Int32(columns), panel: panel)
        var epilogue = coreai_epilogue()
        (epilogue.activation, epilogue.low, epilogue.high) = (activation, 0, 6)
        var c = [Float](repeating: 0, count: 2 * columns)
        kernels.gemm([1, .nan, 2, 1, 1, 1], depth, &panels, 0, Int32(columns), &c, columns, 2, &epilogue)
        #expect(c[..<columns].allSatisfy { $0.isNaN })
        #expect(c[columns...].allSatisfy { !$0.isNaN })
    }

    @Test func everyNameIsItsLevel() {
        for level in levels {
            #expect(String(cString: level.kernels.name) == level.name)
        }
        #expect(coreai_kernels_named("none such") == nil)
        #expect(levels.contains { $0.name == String(cString: coreai_kernels_best().pointee.name) })
    }
}

// MARK: What the tests share

/// A level that this machine has.
struct Level: CustomStringConvertible, @unchecked Sendable {
    let name: String
    let kernels: coreai_kernels
    var description: String { name }
}

let levels: [Level] = ["plain", "neon", "avx2", "avx512"].compactMap { name in
    coreai_kernels_named(name).map { Level(name: name, kernels: $0.pointee) }
}

/// A convolution, and where its taps lie.
struct Convolution: CustomStringConvertible, Sendable {
    let height, width, channels, outChannels: Int
    let kernel, stride, dilation: (y: Int, x: Int)
    let pad: (top: Int, left: Int, bottom: Int, right: Int)
    /// Floats between the channels of neighbouring pixels.
    let gap: Int

    init(
        _ height: Int, _ width: Int, _ channels: Int, to outChannels: Int, kernel: (Int, Int),
        stride: (Int, Int) = (1, 1), dilation: (Int, Int) = (1, 1), pad: (Int, Int, Int, Int) = (0, 0, 0, 0),
        gap: Int = 0
    ) {
        (self.height, self.width, self.channels, self.outChannels) = (height, width, channels, outChannels)
        (self.kernel, self.stride, self.dilation) = (kernel, stride, dilation)
        (self.pad, self.gap) = (pad, gap)
    }

    var outHeight: Int { (height + pad.top + pad.bottom - (kernel.y - 1) * dilation.y - 1) / stride.y + 1 }
    var outWidth: Int { (width + pad.left + pad.right - (kernel.x - 1) * dilation.x - 1) / stride.x + 1 }
    var pixels: Int { outHeight * outWidth }
    var taps: Int { kernel.y * kernel.x }
    var xStride: Int { channels + gap }
    var yStride: Int { outChannels + 2 * gap }
    var inputCount: Int { height * width * xStride }
    var description: String {
        "\(height)x\(width)x\(channels) to \(outHeight)x\(outWidth)x\(outChannels), kernel \(kernel), "
            + "stride \(stride), dilation \(dilation), pad \(pad)"
    }

    var fields: coreai_convolution {
        coreai_convolution(
            height: Int32(height), width: Int32(width), channels: Int32(channels), out_height: Int32(outHeight),
            out_width: Int32(outWidth), out_channels: Int32(outChannels), kernel_height: Int32(kernel.y),
            kernel_width: Int32(kernel.x), stride_y: Int32(stride.y), stride_x: Int32(stride.x),
            dilation_y: Int32(dilation.y), dilation_x: Int32(dilation.x), pad_top: Int32(pad.top),
            pad_left: Int32(pad.left), x_stride: xStride, y_stride: yStride)
    }

    /// The sum of `term(tap, start of the input pixel)` over the taps of a result pixel inside the image.
    func sum(at pixel: Int, term: (Int, Int) -> Double) -> Double {
        var sum = 0.0
        for ky in 0..<kernel.y {
            for kx in 0..<kernel.x {
                let iy = pixel / outWidth * stride.y - pad.top + ky * dilation.y
                let ix = pixel % outWidth * stride.x - pad.left + kx * dilation.x
                guard 0..<height ~= iy, 0..<width ~= ix else { continue }
                sum += term(ky * kernel.x + kx, (iy * width + ix) * xStride)
            }
        }
        return sum
    }
}

/// Floats aligned to 64 bytes, filled by `body`.
private final class Packed {
    let base: UnsafeMutablePointer<Float>
    private let memory: UnsafeMutableRawPointer

    init(_ count: Int, _ body: (UnsafeMutablePointer<Float>) -> Void) {
        memory = .allocate(byteCount: max(count, 1) * 4, alignment: 64)
        base = memory.bindMemory(to: Float.self, capacity: max(count, 1))
        base.initialize(repeating: 0, count: max(count, 1))
        body(base)
    }

    deinit { memory.deallocate() }
}

/// Runs `kernel` into a result with gaps between its rows and compares it with `sum` and the epilogue, which has a bias
/// and a residual or not by the bits of `variant`. The gaps must stay as they were.
private func check(
    _ name: String, _ rows: Int, _ columns: Int, _ stride: Int, _ activation: coreai_activation, _ variant: Int,
    _ random: inout Random, kernel: (UnsafeMutablePointer<Float>, inout coreai_epilogue) -> Void,
    sum: (Int, Int) -> Double
) {
    let bias = random.floats(columns), residual = random.floats(max(rows, 1) * (columns + 1))
    let before = random.floats(max(rows, 1) * stride)
    var y = before
    var epilogue = coreai_epilogue()
    epilogue.activation = activation
    switch activation {
    case COREAI_ACTIVATION_HARD_SIGMOID: (epilogue.low, epilogue.high) = (0.2, 0.5)
    case COREAI_ACTIVATION_LEAKY: (epilogue.low, epilogue.high) = (0.1, 0)
    default: (epilogue.low, epilogue.high) = (-0.5, 0.8)
    }
    bias.withUnsafeBufferPointer { bias in
        residual.withUnsafeBufferPointer { residual in
            y.withUnsafeMutableBufferPointer { y in
                guard let result = y.baseAddress else { return }
                if variant & 1 == 0 { epilogue.bias = bias.baseAddress }
                if variant & 2 == 0 {
                    (epilogue.residual, epilogue.residual_stride) = (residual.baseAddress, columns + 1)
                }
                kernel(result, &epilogue)
            }
        }
    }
    for row in 0..<rows {
        for column in 0..<stride {
            let found = y[row * stride + column]
            guard column < columns else {
                if found != before[row * stride + column] {
                    Issue.record("\(name): wrote beyond the columns of row \(row)")
                    return
                }
                continue
            }
            var want = sum(row, column)
            if variant & 1 == 0 { want += Double(bias[column]) }
            if variant & 2 == 0 { want += Double(residual[row * (columns + 1) + column]) }
            want = activated(want, activation, Double(epilogue.low), Double(epilogue.high))
            if !(abs(Double(found) - want) <= 3e-5 * (1 + abs(want))) {
                Issue.record("\(name): row \(row), column \(column) is \(found), expected \(want)")
                return
            }
        }
    }
}

private func activated(_ x: Double, _ activation: coreai_activation, _ low: Double, _ high: Double) -> Double {
    switch activation {
    case COREAI_ACTIVATION_CLAMP: min(max(x, low), high)
    case COREAI_ACTIVATION_LEAKY: x < 0 ? low * x : x
    case COREAI_ACTIVATION_HARD_SWISH: x * min(max(x + 3, 0), 6) / 6
    case COREAI_ACTIVATION_HARD_SIGMOID: min(max(low * x + high, 0), 1)
    case COREAI_ACTIVATION_SIGMOID: 1 / (1 + exp(-x))
    case COREAI_ACTIVATION_SILU: x / (1 + exp(-x))
    case COREAI_ACTIVATION_TANH: tanh(x)
    case COREAI_ACTIVATION_GELU: x * erfc(-x / 2.0.squareRoot()) / 2
    case COREAI_ACTIVATION_GELU_TANH: x * (1 + tanh((2 / Double.pi).squareRoot() * (x + 0.044715 * x * x * x))) / 2
    default: x
    }
}

/// Numbers between -1 and 1, the same for the same seed.
private struct Random {
    var state: UInt64
    init(seed: UInt64) { state = seed &* 0x9e37_79b9_7f4a_7c15 }

    mutating func floats(_ count: Int, scale: Float = 1) -> [Float] {
        (0..<count).map { _ in
            state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            return (Float(state >> 40) / Float(1 << 23) - 1) * scale
        }
    }
}
