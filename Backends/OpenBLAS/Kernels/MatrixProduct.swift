import CoreAIBackend
import CoreAIGraph
import CoreAIOps
import COpenBLAS

/// `batch_matmul` and `broadcasting_batch_matmul` on floats of 16, 32 and 64 bits; 16-bit ones are widened.
let matrixProductClaim = KernelClaim(
    ["primitive.batch_matmul_v1", "broadcasting_batch_matmul_v1"],
    accepts: { _, operands, _ in
        guard let scalar = operands.first?.scalar, scalar == .float32 || scalar == .float64 || isNarrow(scalar) else {
            return
                "operands are \(operands.first?.scalar.name ?? "none"), the kernel takes float16, bfloat16, float32 and float64"
        }
        return nil
    },
    makeKernel: { widening($0, multiplyBatch) })

@Sendable private func multiplyBatch(_ context: inout KernelContext) throws(KernelError) {
    let (a, b, c) = (context.operands[0], context.operands[1], context.results[0])
    guard a.rank >= 2, b.rank >= 2 else { throw KernelError("operands of a matrix product need rank 2 or more") }
    let (m, k, n) = (a.shape[a.rank - 2], a.shape[a.rank - 1], b.shape[b.rank - 1])
    guard c.count > 0 else { return }
    guard k > 0 else {
        c.base.initializeMemory(as: UInt8.self, repeating: 0, count: c.byteCount)
        return
    }
    let batch = c.shape.dropLast(2)
    let count = batch.reduce(1, *)
    try checkBLASSizes(m.multipliedReportingOverflow(by: count).partialValue, n, k)
    let aOffsets = batchOffsets(a.shape.dropLast(2), to: batch, block: m * k)
    let bOffsets = batchOffsets(b.shape.dropLast(2), to: batch, block: k * n)
    // One right operand for the whole batch: the batch is more rows of the left.
    if bOffsets.allSatisfy({ $0 == 0 }), aOffsets.enumerated().allSatisfy({ $1 == $0 * m * k }) {
        product(a, 0, b, 0, c, 0, m: m * count, n: n, k: k)
    } else if count >= WorkerPool.shared.width, Double(count * m * n) * Double(k) > Double(multiplicationsWorthSharing)
    {
        WorkerPool.shared.parallel(count) { index in
            multiply(
                a, aOffsets[index], b, bOffsets[index], c, index * m * n, rows: 0..<m, columns: 0..<n, m: m, n: n,
                k: k)
        }
    } else {
        for index in 0..<count {
            product(a, aOffsets[index], b, bOffsets[index], c, index * m * n, m: m, n: n, k: k)
        }
    }
}

/// Element offset of each batch entry of an operand whose batch sizes broadcast to `batch`.
private func batchOffsets(_ shape: ArraySlice<Int>, to batch: ArraySlice<Int>, block: Int) -> [Int] {
    var offsets = [0]
    let lead = batch.count - shape.count
    var stride = [Int](repeating: 0, count: batch.count)
    var next = block
    for (axis, size) in shape.enumerated().reversed() {
        stride[lead + axis] = size == 1 ? 0 : next
        next *= size
    }
    for (axis, size) in batch.enumerated() {
        offsets = offsets.flatMap { offset in (0..<size).map { offset + $0 * stride[axis] } }
    }
    return offsets
}

/// One product, its larger side cut over the worker pool.
func product(
    _ a: HostTensor, _ aOffset: Int, _ b: HostTensor, _ bOffset: Int, _ c: HostTensor, _ cOffset: Int,
    m: Int, n: Int, k: Int
) {
    let width = WorkerPool.shared.width
    let work = Double(m) * Double(n) * Double(k)
    guard width > 1, work > Double(multiplicationsWorthSharing), max(m, n) >= 2 * width else {
        multiply(a, aOffset, b, bOffset, c, cOffset, rows: 0..<m, columns: 0..<n, m: m, n: n, k: k)
        return
    }
    WorkerPool.shared.parallel(width) { part in
        let rows = m >= n ? m * part / width..<m * (part + 1) / width : 0..<m
        let columns = m >= n ? 0..<n : n * part / width..<n * (part + 1) / width
        multiply(a, aOffset, b, bOffset, c, cOffset, rows: rows, columns: columns, m: m, n: n, k: k)
    }
}

/// The given rows and columns of c = a · b, all row-major.
private func multiply(
    _ a: HostTensor, _ aOffset: Int, _ b: HostTensor, _ bOffset: Int, _ c: HostTensor, _ cOffset: Int,
    rows: Range<Int>, columns: Range<Int>, m: Int, n: Int, k: Int
) {
    let left = aOffset + rows.lowerBound * k
    let right = bOffset + columns.lowerBound
    let result = cOffset + rows.lowerBound * n + columns.lowerBound
    let (rowCount, columnCount, depth, width) = (Int32(rows.count), Int32(columns.count), Int32(k), Int32(n))
    guard rowCount > 0, columnCount > 0 else { return }
    if a.scalar == .float32 {
        cblas_sgemm(
            CblasRowMajor, CblasNoTrans, CblasNoTrans, rowCount, columnCount, depth, 1,
            a.pointer(as: Float.self) + left, depth, b.pointer(as: Float.self) + right, width, 0,
            c.pointer(as: Float.self) + result, width)
    } else {
        cblas_dgemm(
            CblasRowMajor, CblasNoTrans, CblasNoTrans, rowCount, columnCount, depth, 1,
            a.pointer(as: Double.self) + left, depth, b.pointer(as: Double.self) + right, width, 0,
            c.pointer(as: Double.self) + result, width)
    }
}
