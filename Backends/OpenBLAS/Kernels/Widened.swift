import CoreAIBackend
import CoreAIGraph
import CoreAIOps

/// Runs a kernel for `float32` on 16-bit floats: operands are widened, the result is rounded once.
///
/// Constant operands are widened when the kernel is made, the others at every run.
func widening(_ constants: [HostTensor?], _ kernel: @escaping ReferenceKernel) -> ReferenceKernel {
    let prepared = constants.map { $0.flatMap { isNarrow($0.scalar) ? WideTensor($0) : nil } }
    return { (context) throws(KernelError) in
        guard context.results.contains(where: { isNarrow($0.scalar) }) else { return try kernel(&context) }
        var owners: [WideTensor] = []
        let operands = context.operands.enumerated().map { index, operand -> HostTensor in
            guard isNarrow(operand.scalar) else { return operand }
            if prepared.indices.contains(index), let wide = prepared[index] { return wide.tensor }
            let wide = WideTensor(operand)
            owners.append(wide)
            return wide.tensor
        }
        let results = context.results.map { WideTensor(shape: $0.shape) }
        var wide = KernelContext(
            op: context.op, signature: context.signature, operands: operands, results: results.map(\.tensor),
            symbols: context.symbols)
        try withExtendedLifetime((owners, prepared)) { () throws(KernelError) in try kernel(&wide) }
        for (result, narrow) in zip(results, context.results) { result.round(to: narrow) }
    }
}

func isNarrow(_ scalar: ScalarType) -> Bool { scalar == .float16 || scalar == .bfloat16 }

/// A tensor of single-precision numbers in memory of its own.
private final class WideTensor: @unchecked Sendable {
    /// Valid while this object lives; not written to once it is shared.
    let tensor: HostTensor
    private let memory: UnsafeMutablePointer<Float>

    init(shape: [Int]) {
        memory = .allocate(capacity: max(1, shape.reduce(1, *)))
        tensor = HostTensor(.float32, shape, UnsafeMutableRawPointer(memory))
    }

    convenience init(_ narrow: HostTensor) {
        self.init(shape: narrow.shape)
        Widening.widen(narrow.base, narrow.scalar, memory, narrow.count)
    }

    deinit { memory.deallocate() }

    func round(to narrow: HostTensor) {
        Widening.narrow(memory, narrow.scalar, narrow.base, narrow.count)
    }
}

/// OpenBLAS counts in 32 bits.
func checkBLASSizes(_ sizes: Int...) throws(KernelError) {
    for size in sizes where Int32(exactly: size) == nil {
        throw KernelError("a matrix of \(size) rows or columns, OpenBLAS takes up to \(Int32.max)")
    }
}

/// Sizes come from a file: what a kernel wants beside its operands may be more than there is.
func checkScratch(_ byteCount: Double) throws(KernelError) {
    guard let count = Int(exactly: byteCount.rounded(.up)) else {
        throw KernelError("needs \(byteCount) bytes of scratch memory")
    }
    do {
        try HostBuffer.checkRoom(for: count)
    } catch {
        throw KernelError(error.message)
    }
}
