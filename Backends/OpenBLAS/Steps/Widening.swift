import CKernels
import CoreAIBackend
import CoreAIGraph
import CoreAIOps

/// 16-bit floats for kernels that compute in 32 bits.
enum Widening {
    static func widened(_ narrow: HostTensor) throws(BackendError) -> FloatBuffer {
        let buffer = try FloatBuffer(count: narrow.count)
        widen(narrow.base, narrow.scalar, buffer.base, narrow.count)
        return buffer
    }

    static func widen(
        _ source: UnsafeRawPointer, _ scalar: ScalarType, _ target: UnsafeMutablePointer<Float>, _ count: Int
    ) {
        let bits = source.assumingMemoryBound(to: UInt16.self)
        if scalar == .float16 {
            coreai_widen_half(bits, target, count)
        } else {
            for index in 0..<count { target[index] = Float(bitPattern: UInt32(bits[index]) << 16) }
        }
    }

    static func narrow(
        _ source: UnsafePointer<Float>, _ scalar: ScalarType, _ target: UnsafeMutableRawPointer, _ count: Int
    ) {
        let bits = target.assumingMemoryBound(to: UInt16.self)
        if scalar == .float16 {
            coreai_narrow_half(source, bits, count)
        } else {
            for index in 0..<count { bits[index] = bfloat16Bits(source[index]) }
        }
    }
}

/// A call that widens its inputs, computes in 32 bits and rounds its result once. Counts in elements.
func widening(
    _ scalar: ScalarType, _ inputs: [(value: ValueID, count: Int)], _ result: (value: ValueID, count: Int),
    scratch: Int,
    _ body:
        @escaping @Sendable (
            HostMemory, [UnsafePointer<Float>], UnsafeMutablePointer<Float>, UnsafeMutableRawPointer
        ) -> Void
) -> HostCall {
    var offsets: [Int] = []
    var total = (scratch + 63) & ~63
    for input in inputs {
        offsets.append(total)
        total += alignedByteCount(floats: input.count)
    }
    let resultOffset = total
    let values = inputs
    return HostCall(scratch: total + alignedByteCount(floats: result.count)) { [offsets] memory in
        var wide: [UnsafePointer<Float>] = []
        for (input, offset) in zip(values, offsets) {
            let target = (memory.scratch + offset).assumingMemoryBound(to: Float.self)
            Widening.widen(memory[input.value], scalar, target, input.count)
            wide.append(UnsafePointer(target))
        }
        let output = (memory.scratch + resultOffset).assumingMemoryBound(to: Float.self)
        body(memory, wide, output, memory.scratch)
        Widening.narrow(output, scalar, memory[result.value], result.count)
    }
}
