import CKernels
import Foundation
import Testing

/// The tables that this machine can run.
let kernelLevels: [String] = ["plain", "neon", "avx2", "avx512"].filter { coreai_kernels_named($0) != nil }

func kernels(_ level: String) throws -> coreai_kernels { try #require(coreai_kernels_named(level)).pointee }

/// Numbers that look random and are the same in every run.
struct Numbers {
    private var state: UInt64
    init(seed: UInt64) { state = seed &* 0x9e37_79b9_7f4a_7c15 | 1 }

    mutating func next(_ range: ClosedRange<Float> = -2...2) -> Float {
        state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
        return range.lowerBound + (range.upperBound - range.lowerBound) * Float(state >> 40) / Float(1 << 24)
    }
    mutating func array(_ count: Int, _ range: ClosedRange<Float> = -2...2) -> [Float] {
        (0..<count).map { _ in next(range) }
    }
}

/// Whether `got` is `want` but for rounding: infinities and NaN are themselves.
func isClose(_ got: Float, _ want: Double, _ tolerance: Double = 1e-5) -> Bool {
    if want.isNaN || got.isNaN { return want.isNaN && got.isNaN }
    if got.isInfinite || Float(want).isInfinite { return got == Float(want) }
    return abs(Double(got) - want) <= tolerance * max(1, abs(want))
}

private func expectClose(
    _ got: [Float], _ want: [Double], _ tolerance: Double, _ what: @autoclosure () -> String,
    sourceLocation: SourceLocation = #_sourceLocation
) {
    #expect(got.count == want.count, sourceLocation: sourceLocation)
    if let i = zip(got, want).enumerated().first(where: { !isClose($1.0, $1.1, tolerance) })?.offset {
        Issue.record("\(what()): element \(i) is \(got[i]), expected \(want[i])", sourceLocation: sourceLocation)
    }
}

private let sizes = Array(1...40) + [63, 64, 65, 127, 200, 1025, 5000]

@Suite struct VectorKernelTests {
    // MARK: Rows

    @Test(arguments: kernelLevels) func softmaxIsTheFormula(level: String) throws {
        let kernels = try kernels(level)
        var numbers = Numbers(seed: 1)
        for count in sizes {
            // Rows of ordinary numbers, with entries masked, wholly masked, and with NaN.
            var x = numbers.array(4 * count, -9...9)
            for i in stride(from: 0, to: count - 1, by: 3) { x[count + i] = -.infinity }
            for i in 0..<count { x[2 * count + i] = -.infinity }
            x[3 * count + count / 2] = .nan
            let rows = (0..<4).map { row in x[row * count..<(row + 1) * count].map(Double.init) }
            let largest = rows.map { $0.contains(where: \.isNaN) ? .nan : $0.max() ?? 0 }
            let sums = zip(rows, largest).map { row, largest in row.reduce(0) { $0 + exp($1 - largest) } }
            let want = (0..<4).map { r in rows[r].map { exp($0 - largest[r]) / sums[r] } }
            let wantLog = (0..<4).map { r in rows[r].map { $0 - largest[r] - log(sums[r]) } }

            var y = x
            y.withUnsafeMutableBufferPointer { y in
                guard let y = y.baseAddress else { return }
                kernels.softmax_rows(y, count, y, count, 4, Int32(count))
            }
            expectClose(y, want.flatMap { $0 }, 1e-6, "softmax of \(count)")
            kernels.log_softmax_rows(x, count, &y, count, 4, Int32(count))
            expectClose(y, wantLog.flatMap { $0 }, 1e-5, "logarithm of softmax of \(count)")
        }
    }

    @Test(arguments: kernelLevels) func normsAreTheFormulas(level: String) throws {
        let kernels = try kernels(level)
        var numbers = Numbers(seed: 2)
        for count in sizes {
            let x = numbers.array(count, 3...5)
            let (gain, shift) = (numbers.array(count), numbers.array(count))
            let mean = x.reduce(0) { $0 + Double($1) } / Double(count)
            let variance = x.reduce(0) { $0 + (Double($1) - mean) * (Double($1) - mean) } / Double(count)
            let square = x.reduce(0) { $0 + Double($1) * Double($1) } / Double(count)
            let centred = x.map { (Double($0) - mean) / (variance + 1e-3).squareRoot() }
            let scaled = x.map { Double($0) / (square + 1e-3).squareRoot() }
            var y = [Float](repeating: 0, count: count)
            for (g, s) in [(true, true), (true, false), (false, true), (false, false)] {
                gain.withUnsafeBufferPointer { gain in
                    shift.withUnsafeBufferPointer { shift in
                        kernels.layer_norm_rows(
                            x, 0, &y, 0, 1, Int32(count), g ? gain.baseAddress : nil, s ? shift.baseAddress : nil, 1e-3)
                    }
                }
                let want = centred.indices.map {
                    centred[$0] * (g ? Double(gain[$0]) : 1) + (s ? Double(shift[$0]) : 0)
                }
                expectClose(y, want, 2e-5, "layer norm of \(count), gain \(g), shift \(s)")
            }
            kernels.rms_norm_rows(x, 0, &y, 0, 1, Int32(count), gain, 1e-3)
            expectClose(y, scaled.indices.map { scaled[$0] * Double(gain[$0]) }, 1e-5, "rms norm of \(count)")
            kernels.rms_norm_rows(x, 0, &y, 0, 1, Int32(count), nil, 1e-3)
            expectClose(y, scaled, 1e-5, "rms norm of \(count) without gain")
        }
    }

    private static let reductions: [(coreai_reduction, @Sendable ([Double]) -> Double)] = [
        (COREAI_REDUCE_SUM, { $0.reduce(0, +) }),
        (COREAI_REDUCE_MEAN, { $0.reduce(0, +) / Double($0.count) }),
        (COREAI_REDUCE_MAX, { $0.contains(where: \.isNaN) ? .nan : $0.max() ?? -.infinity }),
        (COREAI_REDUCE_MIN, { $0.contains(where: \.isNaN) ? .nan : $0.min() ?? .infinity }),
        (COREAI_REDUCE_PRODUCT, { $0.reduce(1, *) }),
        (COREAI_REDUCE_SUM_OF_SQUARES, { $0.reduce(0) { $0 + $1 * $1 } }),
        (COREAI_REDUCE_L2, { $0.reduce(0) { $0 + $1 * $1 }.squareRoot() }),
    ]

    @Test(arguments: kernelLevels) func reductionsOfRowsAndColumnsAgreeWithSums(level: String) throws {
        let kernels = try kernels(level)
        var numbers = Numbers(seed: 3)
        for count in sizes {
            for width in [1, 3, 17, 70] {
                var x = numbers.array(count * width, 0.9...1.1)
                if count % 3 == 0 { x[count * width / 2] = .nan }
                let columns = (0..<width).map { c in (0..<count).map { Double(x[$0 * width + c]) } }
                // The same numbers with the columns as rows, a gap of one between them.
                let rows = columns.flatMap { $0.map { Float($0) } + [.infinity] }
                for (kind, formula) in Self.reductions {
                    let want = columns.map(formula)
                    var y = [Float](repeating: 0, count: width)
                    kernels.reduce_columns(kind, x, width, &y, Int32(width), Int32(count))
                    expectClose(y, want, 2e-5, "\(kind) of \(width) columns of \(count)")
                    kernels.reduce_rows(kind, rows, count + 1, &y, Int32(width), Int32(count))
                    expectClose(y, want, 2e-5, "\(kind) of \(width) rows of \(count)")
                }
            }
        }
    }

    /// A plain sum in one chain would be off by tens here.
    @Test(arguments: kernelLevels) func longSumsKeepTheirDigits(level: String) throws {
        let kernels = try kernels(level)
        var numbers = Numbers(seed: 4)
        let x = numbers.array(300_000, 3...5)
        let want = x.reduce(0) { $0 + Double($1) }
        var y: Float = 0
        kernels.reduce_rows(COREAI_REDUCE_SUM, x, 0, &y, 1, Int32(x.count))
        #expect(abs(Double(y) - want) < 1)
        kernels.reduce_columns(COREAI_REDUCE_SUM, x, 1, &y, 1, Int32(x.count))
        #expect(abs(Double(y) - want) < 1)
    }

    // MARK: Movement and pooling

    @Test(arguments: kernelLevels) func transposeMovesEveryElement(level: String) throws {
        let kernels = try kernels(level)
        for rows in sizes where rows <= 130 {
            for columns in [1, 2, 3, 4, 7, 8, 15, 16, 17, 33, 64, 70] {
                // Bit patterns of which many are no numbers.
                let x = (0..<rows * (columns + 1)).map { UInt32(truncatingIfNeeded: $0) &* 2_654_435_761 }
                var y = [UInt32](repeating: 7, count: columns * (rows + 2))
                kernels.transpose(x, columns + 1, &y, rows + 2, Int32(rows), Int32(columns))
                for i in y.indices {
                    let (c, r) = (i / (rows + 2), i % (rows + 2))
                    let want = r < rows ? x[r * (columns + 1) + c] : 7
                    guard y[i] == want else {
                        Issue.record("\(rows)x\(columns): [\(c)][\(r)] is \(y[i]), expected \(want)")
                        return
                    }
                }
            }
        }
    }

    @Test(arguments: kernelLevels) func poolingSeesTheTapsInsideTheImage(level: String) throws {
        let kernels = try kernels(level)
        var numbers = Numbers(seed: 5)
        for (kernel, stride, dilation, pad) in [(1, 1, 1, 0), (2, 2, 1, 0), (3, 2, 1, 1), (3, 1, 2, 2), (4, 3, 3, 9)] {
            for channels in [1, 3, 16, 21, 70] {
                let (height, width, outHeight, outWidth) = (7, 6, 5, 4)
                var shape = coreai_convolution()
                (shape.height, shape.width, shape.channels) = (Int32(height), Int32(width), Int32(channels))
                (shape.out_height, shape.out_width, shape.out_channels) = (
                    Int32(outHeight), Int32(outWidth), Int32(channels)
                )
                (shape.kernel_height, shape.kernel_width) = (Int32(kernel), Int32(kernel))
                (shape.stride_y, shape.stride_x) = (Int32(stride), Int32(stride))
                (shape.dilation_y, shape.dilation_x) = (Int32(dilation), Int32(dilation))
                (shape.pad_top, shape.pad_left) = (Int32(pad), Int32(pad))
                (shape.x_stride, shape.y_stride) = (channels + 1, channels + 2)
                var x = numbers.array(height * width * (channels + 1))
                x[x.count / 2] = .nan
                for (isMean, countsPadding) in [(false, false), (true, false), (true, true)] {
                    var y = [Float](repeating: 9, count: outHeight * outWidth * (channels + 2))
                    var want = y.map(Double.init)
                    // Two parts, as two threads would.
                    for (first, last) in [(0, 2), (2, 5)] as [(Int32, Int32)] {
                        if isMean {
                            kernels.pool_mean(&shape, countsPadding, x, &y, first, last)
                        } else {
                            kernels.pool_max(&shape, x, &y, first, last)
                        }
                    }
                    for pixel in 0..<outHeight * outWidth {
                        for c in 0..<channels {
                            let taps = (0..<kernel * kernel).compactMap { tap -> Double? in
                                let row = pixel / outWidth * stride - pad + tap / kernel * dilation
                                let column = pixel % outWidth * stride - pad + tap % kernel * dilation
                                guard 0..<height ~= row, 0..<width ~= column else { return nil }
                                return Double(x[(row * width + column) * (channels + 1) + c])
                            }
                            let largest = taps.contains(where: \.isNaN) ? .nan : taps.max() ?? -.infinity
                            let mean = taps.reduce(0, +) / Double(countsPadding ? kernel * kernel : taps.count)
                            want[pixel * (channels + 2) + c] = isMean ? mean : largest
                        }
                    }
                    expectClose(
                        y, want, 1e-6, "\(kernel)x\(kernel) over \(stride), \(channels) channels, mean \(isMean)")
                }
            }
        }
    }

    // MARK: Attention

    struct Head: Sendable {
        var queries, keys, depth, valueDepth: Int
        var isCausal = false
        /// Floats between a mask's rows; nil without a mask.
        var maskStride: Int?
    }

    private static let heads = [
        Head(queries: 1, keys: 1, depth: 1, valueDepth: 1),
        Head(queries: 1, keys: 37, depth: 64, valueDepth: 64),
        Head(queries: 2, keys: 100, depth: 20, valueDepth: 33, isCausal: true),
        Head(queries: 5, keys: 3, depth: 16, valueDepth: 16, isCausal: true),
        Head(queries: 31, keys: 31, depth: 32, valueDepth: 48, isCausal: true),
        Head(queries: 50, keys: 70, depth: 40, valueDepth: 72, maskStride: 70),
        Head(queries: 25, keys: 129, depth: 64, valueDepth: 64, maskStride: 0),
        Head(queries: 3, keys: 40, depth: 8, valueDepth: 5, maskStride: 40),
        Head(queries: 7, keys: 9000, depth: 16, valueDepth: 16),
    ]

    @Test(arguments: kernelLevels) func attentionIsTheFormula(level: String) throws {
        let kernels = try kernels(level)
        var numbers = Numbers(seed: 6)
        for head in Self.heads {
            // As in a matrix of several heads.
            let gap = 8
            var shape = coreai_attention()
            (shape.queries, shape.keys) = (Int32(head.queries), Int32(head.keys))
            (shape.depth, shape.value_depth) = (Int32(head.depth), Int32(head.valueDepth))
            (shape.q_stride, shape.k_stride) = (head.depth + gap, head.depth + gap)
            (shape.v_stride, shape.o_stride) = (head.valueDepth + gap, head.valueDepth + gap)
            (shape.scale, shape.causal) = (0.25, head.isCausal)
            shape.mask_stride = head.maskStride ?? 0
            let q = numbers.array(head.queries * shape.q_stride)
            let k = numbers.array(head.keys * shape.k_stride)
            let v = numbers.array(head.keys * shape.v_stride)
            var mask = numbers.array(max(head.keys, head.queries * (head.maskStride ?? 0)))
            for i in stride(from: 0, to: mask.count, by: 5) { mask[i] = -.infinity }
            var o = [Float](repeating: 0, count: head.queries * shape.o_stride)
            var scratch = [Float](repeating: 0, count: kernels.attention_scratch_count(&shape))
            mask.withUnsafeBufferPointer { mask in
                let mask = head.maskStride == nil ? nil : mask.baseAddress
                kernels.attention(&shape, q, k, v, mask, &o, &scratch)
            }

            var want = o.map { _ in 0.0 }
            for i in 0..<head.queries {
                let seen = head.isCausal ? max(0, i + 1 + head.keys - head.queries) : head.keys
                var scores = (0..<seen).map { key in
                    (0..<head.depth).reduce(0.0) {
                        $0 + Double(q[i * shape.q_stride + $1]) * Double(k[key * shape.k_stride + $1])
                    } * 0.25 + (head.maskStride.map { Double(mask[i * $0 + key]) } ?? 0)
                }
                let largest = scores.max() ?? 0
                scores = scores.map { exp($0 - largest) }
                let sum = scores.reduce(0, +)
                for c in 0..<head.valueDepth {
                    let total = (0..<seen).reduce(0.0) { $0 + scores[$1] * Double(v[$1 * shape.v_stride + c]) }
                    want[i * shape.o_stride + c] = total / sum
                }
            }
            expectClose(o, want, 2e-5, "\(head)")
        }
    }
}
