import CKernels
import CoreAIBackend
import CoreAIGraph

/// The table of kernels of the best level this processor has.
nonisolated(unsafe) let kernels = coreai_kernels_best().pointee

/// Floats in memory of their own, aligned for the kernels; packed weights above all.
final class FloatBuffer: @unchecked Sendable {
    let base: UnsafeMutablePointer<Float>
    let count: Int

    /// - Throws: `outOfMemory` where there is no room.
    convenience init(count: Int) throws(BackendError) {
        try checkRoom(forFloats: count)
        self.init(unchecked: count)
    }

    private init(unchecked count: Int) {
        self.count = count
        let byteCount = max(64, (count * 4 + 63) & ~63)
        // Packed weights are read from end to end at every run: on huge pages that misses fewer translations.
        let isLarge = byteCount >= 1 << 20
        let alignment = isLarge ? 1 << 21 : 64
        let memory = UnsafeMutableRawPointer.allocate(byteCount: byteCount, alignment: alignment)
        if isLarge { coreai_advise_huge_pages(memory, byteCount) }
        base = memory.assumingMemoryBound(to: Float.self)
    }

    convenience init(_ values: [Float]) {
        self.init(unchecked: values.count)
        for (index, value) in values.enumerated() { base[index] = value }
    }

    deinit { UnsafeMutableRawPointer(base).deallocate() }
}

/// Below so many multiplications a hand-over to other threads costs more than it saves.
let multiplicationsWorthSharing = 400_000

/// The product of numbers that are not negative, or 2^60 if it is beyond: more than there is of anything.
func saturatingProduct(_ factors: [Int]) -> Int {
    factors.reduce(1) { product, factor in
        let (next, overflow) = product.multipliedReportingOverflow(by: factor)
        return overflow ? 1 << 60 : min(next, 1 << 60)
    }
}

/// The bytes that so many floats take in scratch memory, whatever follows them aligned.
func alignedByteCount(floats count: Int) -> Int { saturatingProduct([(count + 15) / 16, 64]) }

/// Into how many parts work is cut for the pool, its multiplications being the product of `factors`: so many that a thread
/// that is late costs little.
func partCount(_ factors: Int..., atMost limit: Int) -> Int {
    let multiplications = saturatingProduct(factors)
    let width = WorkerPool.shared.width
    guard width > 1, multiplications > multiplicationsWorthSharing else { return 1 }
    return max(1, min(limit, width * 4, multiplications / (multiplicationsWorthSharing / 4)))
}

extension coreai_convolution {
    /// Windows over dense images stored channels last; `pads` are top, bottom, left, right. Sizes have been checked.
    init(_ x: [Int], _ y: [Int], window: [Int], strides: [Int], dilations: [Int], pads: [Int]) {
        self.init()
        (height, width, channels) = (Int32(x[1]), Int32(x[2]), Int32(x[3]))
        (out_height, out_width, out_channels) = (Int32(y[1]), Int32(y[2]), Int32(y[3]))
        (kernel_height, kernel_width) = (Int32(window[0]), Int32(window[1]))
        (stride_y, stride_x) = (Int32(strides[0]), Int32(strides[1]))
        (dilation_y, dilation_x) = (Int32(dilations[0]), Int32(dilations[1]))
        (pad_top, pad_left) = (Int32(pads[0]), Int32(pads[2]))
        (x_stride, y_stride) = (x[3], y[3])
    }
}

/// Calls `body` for each part, on this thread and the pool's.
func inParts(_ count: Int, _ body: (Int) -> Void) {
    if count == 1 { return body(0) }
    WorkerPool.shared.parallel(count, body)
}

/// What part `part` of `parts` equal ones has of so many things.
func share(_ count: Int, _ part: Int, of parts: Int) -> Range<Int> {
    count * part / parts..<count * (part + 1) / parts
}

/// The tail of a product, ready for shapes.
struct PreparedTail: Sendable {
    let residual: ValueID?
    let rest: ChainKernel.PreparedChain?
    private let restOperands: [ValueID]
    private let bias: FloatBuffer?
    private let activation: coreai_activation
    private let low: Float
    private let high: Float

    init(_ tail: Tail, bias: FloatBuffer?, _ shapes: HostShapes, result: [Int]) throws(BackendError) {
        residual = tail.residual
        self.bias = bias
        (activation, low, high) = (tail.activation, tail.low, tail.high)
        let operands = tail.rest.map { Array($0.operands.dropFirst()) } ?? []
        restOperands = operands
        if let rest = tail.rest {
            self.rest = try rest.prepared([result] + operands.map { shapes[$0] }, result: result)
        } else {
            rest = nil
        }
    }

    /// The epilogue of a result that begins `offset` floats into its tensor.
    @inline(__always)
    func epilogue(_ memory: HostMemory, offset: Int, stride: Int) -> coreai_epilogue {
        coreai_epilogue(
            bias: bias.map { UnsafePointer($0.base) },
            residual: residual.map { UnsafePointer(memory.floats($0)) + offset },
            residual_stride: stride, activation: activation, low: low, high: high)
    }

    /// The rest of the chain over all `count` elements of the result.
    func finishInParts(_ memory: HostMemory, _ result: UnsafeMutablePointer<Float>, _ count: Int) {
        guard rest != nil else { return }
        let parts = count < 16_384 ? 1 : WorkerPool.shared.width * 2
        inParts(parts) { finish(memory, result, share(count, $0, of: parts)) }
    }

    /// The rest of the chain over elements `range` of the result, in place.
    func finish(_ memory: HostMemory, _ result: UnsafeMutablePointer<Float>, _ range: Range<Int>) {
        guard let rest else { return }
        withUnsafeTemporaryAllocation(of: UnsafeRawPointer.self, capacity: restOperands.count + 1) { addresses in
            guard let base = addresses.baseAddress else { return }
            base[0] = UnsafeRawPointer(result)
            for (index, value) in restOperands.enumerated() { base[index + 1] = UnsafeRawPointer(memory[value]) }
            rest.run(base, result, range)
        }
    }
}
