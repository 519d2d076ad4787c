import CKernels
import CoreAIBackend
import CoreAIGraph
import CoreAIOps

func rowMajorStrides(_ shape: [Int]) -> [Int] {
    var strides = [Int](repeating: 1, count: shape.count)
    for axis in stride(from: shape.count - 2, through: 0, by: -1) {
        strides[axis] = strides[axis + 1] * shape[axis + 1]
    }
    return strides
}

/// Matrix products of floats, through the packed kernels.
enum ProductStep {
    // MARK: By constant weights

    /// `a` times a constant matrix that is packed now.
    static func byWeights(
        _ op: Op, a: ValueID, weights: HostTensor, isTransposed: Bool, scalar: ScalarType, result: ValueID, tail: Tail,
        _ packing: PackingJobs
    ) throws(BackendError) -> HostStep {
        let rank = weights.rank
        let (rows, columns) = (weights.shape[rank - 2], weights.shape[rank - 1])
        let (depth, width) = isTransposed ? (columns, rows) : (rows, columns)
        try checkSizes([depth, width])
        try checkRoom(forFloats: saturatingProduct([depth, width, 3]))
        let panel = kernels.gemm_panel(Int32(width))
        let packed = packing.add { () throws(BackendError) in
            [try pack(weights, isTransposed: isTransposed, depth: depth, width: width, panel: panel, scale: tail.scale)]
        }
        let bias = tail.bias.map(FloatBuffer.init)
        return HostStep(
            op, name: (["matmul packed"] + tail.words).joined(separator: " + "),
            operands: [a] + tail.operands, results: [result]
        ) { (shapes) throws(BackendError) in
            let (x, y) = (shapes[a], shapes[result])
            guard y.allSatisfy({ $0 > 0 }) else { return HostCall { _ in } }
            let rows = y.dropLast().reduce(1, *)
            try checkSizes([rows])
            let tail = try PreparedTail(tail, bias: bias, shapes, result: y)
            let call = PackedProduct(
                packed: packed.buffers[0], depth: depth, columns: width, panel: Int(panel), rows: rows, tail: tail)
            guard scalar == .float32 else {
                return widening(scalar, [(a, x.reduce(1, *))], (result, rows * width), scratch: 0) {
                    memory, inputs, output, _ in
                    call.run(memory, inputs[0], output)
                }
            }
            return HostCall { memory in call.run(memory, memory.floats(a), memory.floats(result)) }
        }
    }

    private static func pack(
        _ weights: HostTensor, isTransposed: Bool, depth: Int, width: Int, panel: Int32, scale: [Float]?
    ) throws(BackendError) -> FloatBuffer {
        let wide = weights.scalar == .float32 ? nil : try Widening.widened(weights)
        let source = wide?.base ?? weights.pointer(as: Float.self)
        let (rowStride, columnStride) = isTransposed ? (1, depth) : (width, 1)
        let scaled = try scale.map { (scale) throws(BackendError) in
            let buffer = try FloatBuffer(count: depth * width)
            for k in 0..<depth {
                for n in 0..<width {
                    buffer.base[k * width + n] = source[k * rowStride + n * columnStride] * scale[n]
                }
            }
            return buffer
        }
        let packed = try FloatBuffer(count: kernels.gemm_packed_count(Int32(depth), Int32(width), panel))
        withExtendedLifetime((wide, scaled)) {
            if let scaled {
                kernels.gemm_pack(scaled.base, width, 1, Int32(depth), Int32(width), panel, packed.base)
            } else {
                kernels.gemm_pack(source, rowStride, columnStride, Int32(depth), Int32(width), panel, packed.base)
            }
        }
        return packed
    }

    private struct PackedProduct: Sendable {
        let packed: FloatBuffer
        let depth: Int
        let columns: Int
        let panel: Int
        let rows: Int
        let tail: PreparedTail
        private let parts: Int
        private var splitsColumns: Bool

        init(packed: FloatBuffer, depth: Int, columns: Int, panel: Int, rows: Int, tail: PreparedTail) {
            (self.packed, self.depth, self.columns, self.panel) = (packed, depth, columns, panel)
            (self.rows, self.tail) = (rows, tail)
            let panels = (columns + panel - 1) / panel
            let work = saturatingProduct([rows, columns, max(1, depth)])
            // Each part reads all of one side: let it be the smaller.
            splitsColumns = panels >= WorkerPool.shared.width && (rows < 24 * WorkerPool.shared.width || columns > rows)
            var parts = splitsColumns ? partCount(work, atMost: panels) : partCount(work, atMost: max(1, rows / 12))
            if parts == 1 { splitsColumns = false }
            if tail.rest != nil, !splitsColumns { parts = max(parts, min(rows / 24, rows * columns * 4 >> 17)) }
            self.parts = max(1, parts)
        }

        func run(_ memory: HostMemory, _ a: UnsafePointer<Float>, _ c: UnsafeMutablePointer<Float>) {
            inParts(parts) { part in
                var rows = 0..<self.rows
                var columns = 0..<self.columns
                if splitsColumns {
                    let panels = share((self.columns + panel - 1) / panel, part, of: parts)
                    columns = panels.lowerBound * panel..<min(self.columns, panels.upperBound * panel)
                } else {
                    rows = share(self.rows, part, of: parts)
                }
                var panels = coreai_panels(
                    data: packed.base, depth: Int32(depth), columns: Int32(self.columns), panel: Int32(panel))
                let start = rows.lowerBound * self.columns
                var epilogue = tail.epilogue(memory, offset: start, stride: self.columns)
                kernels.gemm(
                    a + rows.lowerBound * depth, depth, &panels, Int32(columns.lowerBound), Int32(columns.upperBound),
                    c + start, self.columns, Int32(rows.count), &epilogue)
                if !splitsColumns { tail.finish(memory, c, start..<rows.upperBound * self.columns) }
            }
            if splitsColumns { tail.finishInParts(memory, c, rows * self.columns) }
        }
    }

    // MARK: Of two tensors

    /// Batches of products; the right side is packed for each as it comes. Operands may be seen through transposes as long as
    /// the left one's rows are dense; the result may be written through one that keeps its columns last.
    static func ofTensors(
        _ op: Op, a: StridedOperand, b: StridedOperand, result: ValueID, permutation: [Int]
    ) -> HostStep {
        HostStep(
            op, name: "matmul", operands: [a.source, b.source], results: [result]
        ) { (shapes) throws(BackendError) in
            let call = try TensorProduct(a, b, result, permutation, shapes)
            let (left, right) = (a.source, b.source)
            return HostCall(scratch: call.scratchByteCount) { memory in
                call.run(memory.floats(left), memory.floats(right), memory.floats(result), memory.scratch)
            }
        }
    }

    private struct TensorProduct: Sendable {
        let rows: Int
        let columns: Int
        let depth: Int
        let aRow: Int
        let bRow: Int
        let bColumn: Int
        let cRow: Int
        let aOffsets: [Int]
        let bOffsets: [Int]
        let cOffsets: [Int]
        let panel: Int
        let packedCount: Int
        let parts: Int
        /// Rows of a single product are shared when there are fewer products than threads.
        let rowParts: Int

        init(
            _ a: StridedOperand, _ b: StridedOperand, _ result: ValueID, _ permutation: [Int], _ shapes: HostShapes
        ) throws(BackendError) {
            let (left, right) = (try a.view(shapes), try b.view(shapes))
            // The result's own axis order, before it is written through the permutation.
            let target = StridedView(dense: shapes[result], undoing: permutation)
            let shape = target.shape
            let (aRank, bRank) = (left.axes.count, right.axes.count)
            (rows, depth, columns) = (left.shape[aRank - 2], left.shape[aRank - 1], right.shape[bRank - 1])
            try checkSizes([rows, depth, columns])
            guard let aRow = left.stride(aRank - 2), let bRow = right.stride(bRank - 2),
                let bColumn = right.stride(bRank - 1), left.isDense(aRank - 1),
                let cRow = target.stride(shape.count - 2)
            else { throw BackendError(.failed, "a matrix whose rows are not evenly spaced") }
            (self.aRow, self.bRow, self.bColumn, self.cRow) = (aRow, bRow, bColumn, cRow)
            // Of nothing there may be very many.
            let isEmpty = shape.contains(0)
            let batch = isEmpty ? [] : Array(shape.dropLast(2))
            try HostBuffer.checkRoom(for: saturatingProduct(batch + [24]))
            aOffsets = left.offsets(0..<aRank - 2, repeatedTo: batch)
            bOffsets = right.offsets(0..<bRank - 2, repeatedTo: batch)
            cOffsets = target.offsets(0..<shape.count - 2, repeatedTo: batch)
            panel = Int(kernels.gemm_panel(Int32(columns)))
            packedCount = (kernels.gemm_packed_count(Int32(depth), Int32(columns), Int32(panel)) + 15) & ~15
            let work = saturatingProduct([rows, columns, max(1, depth)])
            let count = cOffsets.count
            if isEmpty {
                (parts, rowParts) = (0, 1)
            } else if count >= WorkerPool.shared.width {
                (parts, rowParts) = (partCount(work, count, atMost: count), 1)
            } else {
                (parts, rowParts) = (1, partCount(work, atMost: max(1, rows / 12)))
            }
        }

        var scratchByteCount: Int { saturatingProduct([packedCount, 4, parts]) }

        func run(
            _ a: UnsafePointer<Float>, _ b: UnsafePointer<Float>, _ c: UnsafeMutablePointer<Float>,
            _ scratch: UnsafeMutableRawPointer
        ) {
            guard parts > 0 else { return }
            inParts(parts) { part in
                let packed = scratch.assumingMemoryBound(to: Float.self) + part * packedCount
                var last = -1
                for index in share(cOffsets.count, part, of: parts) {
                    if bOffsets[index] != last {
                        kernels.gemm_pack(
                            b + bOffsets[index], bRow, bColumn, Int32(depth), Int32(columns), Int32(panel), packed)
                        last = bOffsets[index]
                    }
                    inParts(rowParts) { rowPart in
                        let rows = share(self.rows, rowPart, of: rowParts)
                        var panels = coreai_panels(
                            data: packed, depth: Int32(depth), columns: Int32(columns), panel: Int32(panel))
                        var epilogue = coreai_epilogue()
                        kernels.gemm(
                            a + aOffsets[index] + rows.lowerBound * aRow, aRow, &panels, 0, Int32(columns),
                            c + cOffsets[index] + rows.lowerBound * cRow, cRow, Int32(rows.count), &epilogue)
                    }
                }
            }
        }
    }
}
