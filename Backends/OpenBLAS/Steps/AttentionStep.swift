import CKernels
import CoreAIBackend
import CoreAIGraph
import CoreAIOps

/// softmax(scale * q k^T + mask) v, head by head, the scores of a few queries at a time never leaving the cache.
struct AttentionStep: Sendable {
    var q: StridedOperand
    /// Seen as its transpose: depth before keys.
    var k: StridedOperand
    var v: StridedOperand
    /// Added to the scores: a row of keys for each query, or one for all.
    var mask: ValueID?
    var scale: Float

    func step(_ op: Op, result: ValueID, permutation: [Int]) -> HostStep {
        let (qValue, kValue, vValue, maskValue) = (q.source, k.source, v.source, mask)
        return HostStep(
            op, name: mask == nil ? "attention" : "attention + mask",
            operands: [qValue, kValue, vValue] + (mask.map { [$0] } ?? []), results: [result]
        ) { (shapes) throws(BackendError) in
            let call = try Call(self, shapes, shapes[result], permutation)
            return HostCall(scratch: call.scratchByteCount) { memory in
                call.run(
                    memory.floats(qValue), memory.floats(kValue), memory.floats(vValue),
                    maskValue.map { UnsafePointer(memory.floats($0)) }, memory.floats(result), memory.scratch)
            }
        }
    }

    private struct Call: Sendable {
        var shape = coreai_attention()
        let qOffsets: [Int]
        let kOffsets: [Int]
        let vOffsets: [Int]
        let maskOffsets: [Int]
        let oOffsets: [Int]
        private let isEmpty: Bool
        private let resultCount: Int
        let parts: Int
        let scratchCount: Int

        init(
            _ step: AttentionStep, _ shapes: HostShapes, _ stored: [Int], _ permutation: [Int]
        ) throws(BackendError) {
            let (q, k, v) = (try step.q.view(shapes), try step.k.view(shapes), try step.v.view(shapes))
            let rank = permutation.count
            let o = StridedView(dense: stored, undoing: permutation)
            let sizes = o.shape
            func uneven() -> BackendError { BackendError(.failed, "attention over rows that are not evenly spaced") }
            let (qRank, kRank, vRank) = (q.axes.count, k.axes.count, v.axes.count)
            guard let qRow = q.stride(qRank - 2), let kRow = k.stride(kRank - 1), let vRow = v.stride(vRank - 2),
                let oRow = o.stride(rank - 2), q.isDense(qRank - 1), k.isDense(kRank - 2), v.isDense(vRank - 1)
            else { throw uneven() }
            try checkSizes(q.shape + k.shape + v.shape)
            shape.queries = Int32(sizes[rank - 2])
            shape.keys = Int32(k.shape[kRank - 1])
            shape.depth = Int32(q.shape[qRank - 1])
            shape.value_depth = Int32(sizes[rank - 1])
            (shape.q_stride, shape.k_stride, shape.v_stride, shape.o_stride) = (qRow, kRow, vRow, oRow)
            shape.scale = step.scale
            isEmpty = sizes.contains(0)
            resultCount = isEmpty ? 0 : stored.reduce(1, *)
            let batch = isEmpty ? [] : Array(sizes.dropLast(2))
            try HostBuffer.checkRoom(for: saturatingProduct(batch + [40]))
            qOffsets = q.offsets(0..<qRank - 2, repeatedTo: batch)
            kOffsets = k.offsets(0..<kRank - 2, repeatedTo: batch)
            vOffsets = v.offsets(0..<vRank - 2, repeatedTo: batch)
            if let mask = step.mask {
                var view = StridedView(dense: shapes[mask])
                while view.axes.count < 2 { view.axes.insert([], at: 0) }
                let maskRank = view.axes.count
                guard let row = view.stride(maskRank - 2), view.shape[maskRank - 1] == Int(shape.keys) else {
                    throw uneven()
                }
                shape.mask_stride = row
                maskOffsets = view.offsets(0..<maskRank - 2, repeatedTo: batch)
            } else {
                maskOffsets = []
            }
            oOffsets = o.offsets(0..<rank - 2, repeatedTo: batch)
            parts =
                isEmpty
                ? 0
                : partCount(
                    Int(shape.queries), Int(shape.keys), Int(shape.depth) + Int(shape.value_depth), oOffsets.count,
                    atMost: oOffsets.count)
            scratchCount = (withUnsafePointer(to: shape) { kernels.attention_scratch_count($0) } + 15) & ~15
        }

        var scratchByteCount: Int { saturatingProduct([scratchCount, 4, parts]) }

        func run(
            _ q: UnsafePointer<Float>, _ k: UnsafePointer<Float>, _ v: UnsafePointer<Float>,
            _ mask: UnsafePointer<Float>?, _ o: UnsafeMutablePointer<Float>, _ scratch: UnsafeMutableRawPointer
        ) {
            guard parts > 0 else { return }
            // A sum over no keys.
            guard shape.keys > 0 else { return o.update(repeating: 0, count: resultCount) }
            inParts(parts) { part in
                var shape = shape
                let own = scratch.assumingMemoryBound(to: Float.self) + part * scratchCount
                for index in share(oOffsets.count, part, of: parts) {
                    kernels.attention(
                        &shape, q + qOffsets[index], k + kOffsets[index], v + vOffsets[index],
                        mask.map { $0 + maskOffsets[index] }, o + oOffsets[index], own)
                }
            }
        }
    }
}
