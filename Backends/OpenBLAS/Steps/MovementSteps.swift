import CKernels
import CoreAIBackend
import CoreAIGraph
import CoreAIOps

/// Ops that only move data.
enum MovementSteps {
    /// The step of an op of this kind; nil if it is another, or if its arguments are known only at run time.
    static func make(_ op: Op, _ graph: Graph) -> HostStep? {
        if op.name == "primitive.split_v1" { return split(op, graph) }
        guard op.results.count == 1, let result = op.results.first, let type = graph[result].type.tensor,
            op[attribute: sizedByOpAttribute] == nil
        else { return nil }
        let size = type.scalar.byteStride
        switch op.name {
        case transposeName: return transpose(op, size, graph)
        case "primitive.slice_v1": return slice(op, size, graph)
        case "primitive.concat_v1": return concatenate(op, size, graph)
        case "primitive.pad_v1": return pad(op, size, graph)
        case "primitive.broadcast_to_v1", "primitive.broadcast_in_dims_v1": return broadcast(op, size, graph)
        case "cpu.take": return take(op, size, graph)
        case "primitive.slice_update_v1": return sliceUpdate(op, size)
        default: return nil
        }
    }

    private static func copy(
        _ op: Op, _ prepare: @escaping @Sendable (HostShapes) throws(BackendError) -> StridedCopy
    ) -> HostStep {
        let (source, target) = (op.operands[0], op.results[0])
        return HostStep(op, operands: [source], results: [target]) { (shapes) throws(BackendError) in
            let copy = try prepare(shapes)
            return HostCall { memory in copy.runShared(memory[source], memory[target]) }
        }
    }

    private static func transpose(_ op: Op, _ size: Int, _ graph: Graph) -> HostStep? {
        guard let permutation = op.axes("permutation", rank: graph.tensorType(op.operands[0]).rank) else { return nil }
        let (source, target) = (op.operands[0], op.results[0])
        return copy(op) { (shapes) throws(BackendError) in
            let strides = rowMajorStrides(shapes[source])
            return StridedCopy(
                elementSize: size, shape: shapes[target], source: permutation.map { strides[$0] },
                target: rowMajorStrides(shapes[target]))
        }
    }

    private static func slice(_ op: Op, _ size: Int, _ graph: Graph) -> HostStep? {
        guard let bounds = SliceBounds(op) else { return nil }
        let (source, target) = (op.operands[0], op.results[0])
        return copy(op) { (shapes) throws(BackendError) in
            let y = shapes[target]
            let (sizes, strides, offset) = try bounds.walk(shapes[source], shapes.symbols)
            for axis in sizes.indices where sizes[axis] != y[axis] {
                throw BackendError(
                    .failed, "the slice has \(sizes[axis]) elements along axis \(axis), expected \(y[axis])")
            }
            return StridedCopy(
                elementSize: size, shape: y, source: strides, target: rowMajorStrides(y), sourceOffset: offset)
        }
    }

    /// A copy of the first operand with a part replaced; the part alone where the copy is not needed.
    private static func sliceUpdate(_ op: Op, _ size: Int) -> HostStep? {
        guard let bounds = SliceBounds(op), op.operands.count == 2 else { return nil }
        let (whole, part, target) = (op.operands[0], op.operands[1], op.results[0])
        @Sendable func replacement(_ shapes: HostShapes) throws(BackendError) -> StridedCopy {
            let update = shapes[part]
            let (sizes, strides, offset) = try bounds.walk(shapes[target], shapes.symbols)
            guard sizes.count == update.count else {
                throw BackendError(.invalidArgument, "a bound of a slice has no value")
            }
            for axis in sizes.indices where sizes[axis] != update[axis] {
                throw BackendError(
                    .failed, "the update has \(update[axis]) elements along axis \(axis), the slice \(sizes[axis])")
            }
            return StridedCopy(
                elementSize: size, shape: update, source: rowMajorStrides(update), target: strides, targetOffset: offset
            )
        }
        var step = HostStep(op, operands: [whole, part], results: [target]) { (shapes) throws(BackendError) in
            let copy = try replacement(shapes)
            let byteCount = shapes[whole].reduce(size, *)
            return HostCall { memory in
                memory[target].copyMemory(from: memory[whole], byteCount: byteCount)
                copy.runShared(memory[part], memory[target])
            }
        }
        step.update = HostStep.Update(of: whole, operands: [part]) { (shapes) throws(BackendError) in
            let copy = try replacement(shapes)
            return HostCall { memory in copy.runShared(memory[part], memory[target]) }
        }
        return step
    }

    private static func broadcast(_ op: Op, _ size: Int, _ graph: Graph) -> HostStep? {
        let (source, target) = (op.operands[0], op.results[0])
        // `broadcast_in_dims` names the axes that are repeated; both right-align, which shapes alone tell.
        return copy(op) { (shapes) throws(BackendError) in
            let (x, y) = (shapes[source], shapes[target])
            var strides = rowMajorStrides(x)
            for axis in x.indices where x[axis] == 1 { strides[axis] = 0 }
            guard x.count <= y.count, zip(x, y.suffix(x.count)).allSatisfy({ $0 == $1 || $0 == 1 }) else {
                throw BackendError(.failed, "\(x) does not broadcast to \(y)")
            }
            strides = Array(repeating: 0, count: y.count - x.count) + strides
            return StridedCopy(elementSize: size, shape: y, source: strides, target: rowMajorStrides(y))
        }
    }

    private static func concatenate(_ op: Op, _ size: Int, _ graph: Graph) -> HostStep? {
        let rank = graph.tensorType(op.results[0]).rank
        guard let axis = op.axes("dimension", rank: rank)?.first, !op.operands.isEmpty,
            op.operands.allSatisfy({ graph[$0].type.tensor?.rank == rank })
        else { return nil }
        let (sources, target) = (op.operands, op.results[0])
        return HostStep(op, operands: sources, results: [target]) { (shapes) throws(BackendError) in
            let strides = rowMajorStrides(shapes[target])
            var copies: [StridedCopy] = []
            var start = 0
            for source in sources {
                copies.append(
                    StridedCopy(
                        elementSize: size, shape: shapes[source], source: rowMajorStrides(shapes[source]),
                        target: strides, targetOffset: start * strides[axis]))
                start += shapes[source][axis]
            }
            guard start == shapes[target][axis] else {
                throw BackendError(.failed, "\(start) elements for an axis of \(shapes[target][axis])")
            }
            return HostCall { [copies] memory in
                for index in copies.indices { copies[index].runShared(memory[sources[index]], memory[target]) }
            }
        }
    }

    private static func split(_ op: Op, _ graph: Graph) -> HostStep? {
        guard let type = graph[op.operands[0]].type.tensor, let axis = op.axes("dim", rank: type.rank)?.first,
            op[attribute: sizedByOpAttribute] == nil, op.operands.count == 1,
            op.results.allSatisfy({ graph[$0].type.tensor?.rank == type.rank })
        else { return nil }
        let (source, targets, size) = (op.operands[0], op.results, type.scalar.byteStride)
        return HostStep(op, operands: [source], results: targets) { (shapes) throws(BackendError) in
            let strides = rowMajorStrides(shapes[source])
            var copies: [StridedCopy] = []
            var start = 0
            for target in targets {
                copies.append(
                    StridedCopy(
                        elementSize: size, shape: shapes[target], source: strides,
                        target: rowMajorStrides(shapes[target]), sourceOffset: start * strides[axis]))
                start += shapes[target][axis]
            }
            guard start <= shapes[source][axis] else {
                throw BackendError(.failed, "parts of \(start) in all of an axis of \(shapes[source][axis])")
            }
            return HostCall { [copies] memory in
                for index in copies.indices { copies[index].runShared(memory[source], memory[targets[index]]) }
            }
        }
    }

    private static func pad(_ op: Op, _ size: Int, _ graph: Graph) -> HostStep? {
        guard op[attribute: "padding_mode"] == .word("constant"), op.operands.count == 2,
            case .dimensions(let pads)? = op[attribute: "padding"],
            graph.tensorType(op.operands[1]).elementCount == 1
        else { return nil }
        let (source, value, target) = (op.operands[0], op.operands[1], op.results[0])
        return HostStep(op, operands: [source, value], results: [target]) { (shapes) throws(BackendError) in
            let (x, y) = (shapes[source], shapes[target])
            let (from, to) = (rowMajorStrides(x), rowMajorStrides(y))
            var shape = x
            var (sourceOffset, targetOffset) = (0, 0)
            for axis in x.indices {
                guard let before = pads[2 * axis].evaluated(shapes.symbols),
                    let after = pads[2 * axis + 1].evaluated(shapes.symbols),
                    before.magnitude < 1 << 60, after.magnitude < 1 << 60, before + x[axis] + after == y[axis]
                else { throw BackendError(.failed, "axis \(axis) of \(x) does not pad to \(y)") }
                // A negative border cuts.
                shape[axis] = max(0, x[axis] + min(0, before) + min(0, after))
                sourceOffset += max(0, -before) * from[axis]
                targetOffset += max(0, before) * to[axis]
            }
            let fill = StridedCopy(
                elementSize: size, shape: y, source: Array(repeating: 0, count: y.count), target: to)
            let copy = StridedCopy(
                elementSize: size, shape: shape, source: from, target: to, sourceOffset: sourceOffset,
                targetOffset: targetOffset)
            return HostCall { memory in
                if copy.byteCount < fill.byteCount { fill.run(memory[value], memory[target]) }
                copy.runShared(memory[source], memory[target])
            }
        }
    }

    private static func take(_ op: Op, _ size: Int, _ graph: Graph) -> HostStep? {
        guard let axis = op.numbers("axis")?.first, let indices = op.numbers("indices") else { return nil }
        let (source, target) = (op.operands[0], op.results[0])
        return HostStep(op, name: "take", operands: [source], results: [target]) { (shapes) throws(BackendError) in
            let x = shapes[source]
            let run = x[(axis + 1)...].reduce(1, *) * size
            let outer = x[..<axis].reduce(1, *)
            let (block, taken) = (run * x[axis], run * indices.count)
            let parts = outer * taken > 256 << 10 ? min(indices.count, WorkerPool.shared.width * 2) : 1
            return HostCall { memory in
                let (from, to) = (memory[source], memory[target])
                guard run > 0 else { return }
                inParts(parts) { part in
                    for outerIndex in 0..<outer {
                        let (base, end) = (from + outerIndex * block, to + outerIndex * taken)
                        for position in share(indices.count, part, of: parts) {
                            (end + position * run).copyMemory(from: base + indices[position] * run, byteCount: run)
                        }
                    }
                }
            }
        }
    }
}
