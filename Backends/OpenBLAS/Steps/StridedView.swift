import CoreAIBackend
import CoreAIGraph
import CoreAIOps

/// A tensor as another one's elements seen in another order: what is left of transposes, slices, reshapes and repetitions when
/// nobody copies anything. Each axis is walked through in one or more loops.
struct StridedView: Sendable {
    struct Loop: Equatable, Sendable {
        var size: Int
        /// In elements of the source.
        var stride: Int
    }

    var axes: [[Loop]]
    var offset = 0

    init(dense shape: [Int]) {
        axes = zip(shape, rowMajorStrides(shape)).map { $0 == 1 ? [] : [Loop(size: $0, stride: $1)] }
    }

    /// A dense tensor as it was before a permutation: axis n of `stored` is axis `permutation[n]` of the view.
    init(dense stored: [Int], undoing permutation: [Int]) {
        self.init(dense: stored)
        let turned = axes
        for (axis, source) in permutation.enumerated() { axes[source] = turned[axis] }
    }

    /// The sizes of the axes.
    var shape: [Int] { axes.map { $0.reduce(1) { $0 * $1.size } } }

    /// How far neighbours along an axis lie apart; nil if that depends on where they are.
    func stride(_ axis: Int) -> Int? {
        let loops = Self.joined(axes[axis])
        if loops.isEmpty { return 0 }
        return loops.count == 1 ? loops[0].stride : nil
    }

    /// Neighbours along an axis lie side by side, if there is more than one.
    func isDense(_ axis: Int) -> Bool { stride(axis) == 1 || shape[axis] <= 1 }

    private static func joined(_ loops: [Loop]) -> [Loop] {
        var joined: [Loop] = []
        for loop in loops where loop.size != 1 {
            if let last = joined.last, last.stride == loop.stride * loop.size {
                joined[joined.count - 1] = Loop(size: last.size * loop.size, stride: loop.stride)
            } else {
                joined.append(loop)
            }
        }
        return joined
    }

    /// The offset of each position of the given axes, row-major, when they are repeated to `sizes`.
    func offsets(_ axes: Range<Int>, repeatedTo sizes: [Int]) -> [Int] {
        var offsets = [offset]
        let lead = sizes.count - axes.count
        for (index, size) in sizes.enumerated() {
            let own = index < lead ? [] : self.axes[axes.lowerBound + index - lead]
            if own.isEmpty {
                offsets = offsets.flatMap { Array(repeating: $0, count: size) }
                continue
            }
            for loop in own { offsets = offsets.flatMap { start in (0..<loop.size).map { start + $0 * loop.stride } } }
        }
        return offsets
    }

    // MARK: Through ops

    static func isTransparent(_ op: Op, _ graph: Graph) -> Bool {
        guard op.results.count == 1, let type = graph[op.operands[0]].type.tensor else { return false }
        switch op.name {
        case transposeName: return op.axes("permutation", rank: type.rank) != nil
        case "primitive.slice_v1":
            return op.numbers("stride")?.allSatisfy { $0 > 0 } ?? false
                && [op[attribute: "start"], op[attribute: "end"]].allSatisfy {
                    if case .dimensions(let sizes)? = $0 { sizes.count == type.rank } else { false }
                }
        case "primitive.expand_dims_v1", "primitive.shrink_dims_v1": return true
        case "primitive.broadcast_in_dims_v1", "primitive.broadcast_to_v1", reshapeName:
            // Whether a reshape can be seen through depends on the sizes.
            return type.staticShape != nil && graph[op.results[0]].type.tensor?.staticShape != nil
        default: return false
        }
    }

    /// The view of an op's result; nil if its elements cannot be reached by loops.
    func through(_ op: Op, _ result: [Int], _ symbols: [Int?]) -> StridedView? {
        var view = self
        switch op.name {
        case transposeName:
            guard let permutation = op.axes("permutation", rank: axes.count) else { return nil }
            view.axes = permutation.map { axes[$0] }
        case "primitive.slice_v1":
            guard case .dimensions(let start)? = op[attribute: "start"],
                case .dimensions(let end)? = op[attribute: "end"],
                let steps = op.numbers("stride")
            else { return nil }
            for axis in axes.indices {
                let size = shape[axis]
                guard let first = start[axis].evaluated(symbols), let last = end[axis].evaluated(symbols) else {
                    return nil
                }
                let range = SliceRange(size: size, start: first, end: last, stride: steps[axis])
                guard range.count == result[axis] else { return nil }
                if range.first == 0, range.count == size { continue }
                guard let stride = stride(axis) else { return nil }
                view.offset += range.first * stride
                view.axes[axis] = range.count == 1 ? [] : [Loop(size: range.count, stride: stride * steps[axis])]
            }
        case "primitive.broadcast_in_dims_v1", "primitive.broadcast_to_v1":
            guard result.count >= axes.count else { return nil }
            view.axes = Array(repeating: [], count: result.count - axes.count) + axes
            for axis in result.indices where view.shape[axis] != result[axis] {
                guard view.axes[axis].isEmpty else { return nil }
                view.axes[axis] = [Loop(size: result[axis], stride: 0)]
            }
        default:
            guard let axes = Self.regrouped(axes.flatMap { $0 }, result) else { return nil }
            view.axes = axes
        }
        return view.shape == result ? view : nil
    }

    /// The same loops under another shape.
    private static func regrouped(_ loops: [Loop], _ shape: [Int]) -> [[Loop]]? {
        if shape.contains(0) {
            return shape.map { $0 == 1 ? [] : [Loop(size: $0, stride: 0)] }
        }
        var left = ArraySlice(loops)
        var axes: [[Loop]] = []
        for size in shape {
            var missing = size
            var own: [Loop] = []
            while missing > 1 {
                guard let loop = left.first else { return nil }
                if missing.isMultiple(of: loop.size) {
                    own.append(loop)
                    missing /= loop.size
                    left.removeFirst()
                } else if loop.size.isMultiple(of: missing) {
                    let rest = loop.size / missing
                    own.append(Loop(size: missing, stride: loop.stride * rest))
                    left[left.startIndex] = Loop(size: rest, stride: loop.stride)
                    missing = 1
                } else {
                    return nil
                }
            }
            axes.append(own)
        }
        return left.isEmpty ? axes : nil
    }
}

/// An operand that a kernel reads where it lies, through the ops that would only move it.
struct StridedOperand: Sendable {
    let source: ValueID
    /// From the source on.
    private let path: [Op]

    /// - Parameter accepts: whether the kernel can read the operand so; symbols stand for some sizes.
    /// - Returns: nil if it cannot read it at all.
    init?(_ value: ValueID, _ graph: Graph, _ definitions: [OpID?], accepts: (StridedView) -> Bool) {
        var chain: [Op] = []
        var current = value
        var best: (ValueID, [Op])?
        if let shape = graph.tensorType(value).shape(Self.someSizes(graph)), accepts(StridedView(dense: shape)) {
            best = (value, [])
        }
        while chain.count < 12, let id = definitions[current.index], StridedView.isTransparent(graph[id], graph) {
            chain.insert(graph[id], at: 0)
            current = graph[id].operands[0]
            if let known = Self.view(chain, { graph.tensorType($0).staticShape }, []) {
                if accepts(known) { best = (current, chain) }
            } else if chain.allSatisfy({ Self.keepsLoops($0) }),
                let likely = Self.view(
                    chain, { graph.tensorType($0).shape(Self.someSizes(graph)) }, Self.someSizes(graph)),
                accepts(likely)
            {
                best = (current, chain)
            }
        }
        guard let best else { return nil }
        (source, path) = best
    }

    /// Ops that can be seen through whatever the sizes are.
    private static func keepsLoops(_ op: Op) -> Bool {
        [transposeName, "primitive.slice_v1", "primitive.expand_dims_v1", "primitive.shrink_dims_v1"].contains(op.name)
    }

    /// Different sizes for the symbols, to see how strides come out.
    private static func someSizes(_ graph: Graph) -> [Int?] { (0..<graph.symbolCount).map { 101 + 2 * $0 } }

    private static func view(_ chain: [Op], _ shape: (ValueID) -> [Int]?, _ symbols: [Int?]) -> StridedView? {
        guard let source = shape(chain[0].operands[0]) else { return nil }
        var view = StridedView(dense: source)
        for op in chain {
            guard let result = shape(op.results[0]), let next = view.through(op, result, symbols) else { return nil }
            view = next
        }
        return view
    }

    func view(_ shapes: HostShapes) throws(BackendError) -> StridedView {
        var view = StridedView(dense: shapes[source])
        for op in path {
            guard let next = view.through(op, shapes[op.results[0]], shapes.symbols) else {
                throw BackendError(.failed, "\(op.name) of \(view.shape) cannot be read in place")
            }
            view = next
        }
        return view
    }
}
