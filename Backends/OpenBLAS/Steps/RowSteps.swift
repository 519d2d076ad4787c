import CKernels
import CoreAIBackend
import CoreAIGraph
import CoreAIOps

/// Ops that work on rows or columns of floats: softmax, normalizations, reductions.
enum RowSteps {
    static func make(_ op: Op, _ graph: Graph) -> HostStep? {
        guard let x = op.operands.first, let type = graph[x].type.tensor, op[attribute: sizedByOpAttribute] == nil,
            type.scalar == .float32 || isNarrow(type.scalar)
        else { return nil }
        switch op.name {
        case "softmax_v1":
            guard let axis = op.axes("axis", rank: type.rank)?.first else { return nil }
            if axis != type.rank - 1 { return softmaxColumns(op, axis, type.scalar) }
            return rows(op, type.scalar) { x, y, rows, count in
                kernels.softmax_rows(x, count, y, count, Int32(rows), Int32(count))
            }
        case "cpu.layer_norm": return norm(op, hasShift: true)
        case "cpu.rms_norm": return norm(op, hasShift: false)
        case "reduce_sum_v1": return reduce(op, COREAI_REDUCE_SUM, type)
        case "reduce_mean_v1": return reduce(op, COREAI_REDUCE_MEAN, type)
        case "reduce_max_v1": return reduce(op, COREAI_REDUCE_MAX, type)
        case "reduce_min_v1": return reduce(op, COREAI_REDUCE_MIN, type)
        default: return nil
        }
    }

    private static let elementsWorthSharing = 16_384

    /// What computes floats from floats, on tensors of `scalar`. Counts in elements.
    private static func call(
        _ scalar: ScalarType, _ source: (value: ValueID, count: Int), _ target: (value: ValueID, count: Int),
        _ run: @escaping @Sendable (UnsafePointer<Float>, UnsafeMutablePointer<Float>) -> Void
    ) -> HostCall {
        guard scalar == .float32 else {
            return widening(scalar, [source], target, scratch: 0) { _, x, y, _ in run(x[0], y) }
        }
        return HostCall { memory in run(memory.floats(source.value), memory.floats(target.value)) }
    }

    private static func rowParts(_ rows: Int, _ count: Int) -> Int {
        let width = WorkerPool.shared.width
        guard width > 1, rows > 1, rows * count > elementsWorthSharing else { return 1 }
        return min(rows, width * 2)
    }

    /// Rows along the last axis, each by itself.
    private static func rows(
        _ op: Op, _ scalar: ScalarType,
        _ body:
            @escaping @Sendable (UnsafePointer<Float>, UnsafeMutablePointer<Float>, _ rows: Int, _ count: Int) -> Void
    ) -> HostStep {
        let (source, target) = (op.operands[0], op.results[0])
        return HostStep(op, operands: [source], results: [target]) { (shapes) throws(BackendError) in
            let shape = shapes[source]
            let (rows, count) = (shape.dropLast().reduce(1, *), shape.last ?? 1)
            try checkSizes([rows, count])
            guard rows * count > 0 else { return HostCall { _ in } }
            let parts = rowParts(rows, count * 4)
            let run = { @Sendable (x: UnsafePointer<Float>, y: UnsafeMutablePointer<Float>) in
                inParts(parts) { part in
                    let range = share(rows, part, of: parts)
                    body(x + range.lowerBound * count, y + range.lowerBound * count, range.count, count)
                }
            }
            return call(scalar, (source, rows * count), (target, rows * count), run)
        }
    }

    private static func softmaxColumns(_ op: Op, _ axis: Int, _ scalar: ScalarType) -> HostStep {
        let (source, target) = (op.operands[0], op.results[0])
        return HostStep(op, operands: [source], results: [target]) { (shapes) throws(BackendError) in
            let shape = shapes[source]
            let (count, inner) = (shape[axis], shape[(axis + 1)...].reduce(1, *))
            let outer = shape[..<axis].reduce(1, *)
            try checkSizes([count, inner])
            guard outer * inner * count > 0 else { return HostCall { _ in } }
            let blocks = (inner + 63) / 64
            let parts = rowParts(outer * blocks, 64 * count * 4)
            let run = { @Sendable (x: UnsafePointer<Float>, y: UnsafeMutablePointer<Float>) in
                inParts(parts) { part in
                    for index in share(outer * blocks, part, of: parts) {
                        let column = index % blocks * 64
                        let start = index / blocks * count * inner + column
                        kernels.softmax_columns(
                            x + start, y + start, inner, Int32(min(64, inner - column)), Int32(count))
                    }
                }
            }
            return call(scalar, (source, outer * count * inner), (target, outer * count * inner), run)
        }
    }

    private static func norm(_ op: Op, hasShift: Bool) -> HostStep? {
        guard case .float(let epsilon)? = op[attribute: "epsilon"] else { return nil }
        let (source, target) = (op.operands[0], op.results[0])
        let gain = op.operands.count > 1 ? op.operands[1] : nil
        let shift = op.operands.count > 2 ? op.operands[2] : nil
        return HostStep(op, operands: op.operands, results: [target]) { (shapes) throws(BackendError) in
            let shape = shapes[source]
            let (rows, count) = (shape.dropLast().reduce(1, *), shape.last ?? 1)
            try checkSizes([rows, count])
            guard rows * count > 0 else { return HostCall { _ in } }
            let parts = rowParts(rows, count)
            return HostCall { memory in
                let gain = gain.map { UnsafePointer(memory.floats($0)) }
                let shift = shift.map { UnsafePointer(memory.floats($0)) }
                inParts(parts) { part in
                    let range = share(rows, part, of: parts)
                    let x = memory.floats(source) + range.lowerBound * count
                    let y = memory.floats(target) + range.lowerBound * count
                    if hasShift {
                        kernels.layer_norm_rows(
                            x, count, y, count, Int32(range.count), Int32(count), gain, shift, Float(epsilon))
                    } else {
                        kernels.rms_norm_rows(
                            x, count, y, count, Int32(range.count), Int32(count), gain, Float(epsilon))
                    }
                }
            }
        }
    }

    private static func reduce(_ op: Op, _ kind: coreai_reduction, _ type: TensorType) -> HostStep? {
        guard let axes = op.axes("axes", rank: type.rank).map({ Set($0) }) else { return nil }
        let sorted = axes.sorted()
        let isRun = zip(sorted, sorted.dropFirst()).allSatisfy { $1 == $0 + 1 }
        // Axes that do not touch are still one run if only axes of size 1 lie between.
        guard let first = sorted.first, let last = sorted.last,
            isRun || (first...last).allSatisfy({ axes.contains($0) || type.shape[$0] == 1 })
        else { return nil }
        let (source, target) = (op.operands[0], op.results[0])
        return HostStep(op, operands: [source], results: [target]) { (shapes) throws(BackendError) in
            let shape = shapes[source]
            let outer = shape[..<first].reduce(1, *)
            let (count, inner) = (shape[first...last].reduce(1, *), shape[(last + 1)...].reduce(1, *))
            try checkSizes([outer, count, inner])
            guard outer * inner > 0, count > 0 else { return try empty(kind, target, outer * inner, type.scalar) }
            let run = { @Sendable (x: UnsafePointer<Float>, y: UnsafeMutablePointer<Float>) in
                if inner == 1 {
                    let parts = rowParts(outer, count)
                    inParts(parts) { part in
                        let range = share(outer, part, of: parts)
                        kernels.reduce_rows(
                            kind, x + range.lowerBound * count, count, y + range.lowerBound, Int32(range.count),
                            Int32(count))
                    }
                } else {
                    let columnParts = outer == 1 && inner >= 32 ? rowParts(inner / 16, count * 16) : 1
                    let parts = outer == 1 ? columnParts : rowParts(outer, count * inner)
                    inParts(parts) { part in
                        let rows = outer == 1 ? 0..<1 : share(outer, part, of: parts)
                        let columns = outer == 1 ? share(inner, part, of: parts) : 0..<inner
                        for row in rows {
                            kernels.reduce_columns(
                                kind, x + row * count * inner + columns.lowerBound, inner,
                                y + row * inner + columns.lowerBound, Int32(columns.count), Int32(count))
                        }
                    }
                }
            }
            return call(type.scalar, (source, outer * count * inner), (target, outer * inner), run)
        }
    }

    /// A reduction over no elements leaves the neutral one.
    private static func empty(
        _ kind: coreai_reduction, _ target: ValueID, _ count: Int, _ scalar: ScalarType
    ) throws(BackendError) -> HostCall {
        let value: Float =
            switch kind {
            case COREAI_REDUCE_MEAN: .nan
            case COREAI_REDUCE_MAX: -.infinity
            case COREAI_REDUCE_MIN: .infinity
            default: 0
            }
        return HostCall { memory in
            for index in 0..<count {
                if scalar == .float32 {
                    memory.floats(target)[index] = value
                } else {
                    var number = value
                    Widening.narrow(&number, scalar, memory[target] + index * 2, 1)
                }
            }
        }
    }
}

/// Pooling of images stored channels last.
enum PoolStep {
    static func canTake(_ op: Op) -> Bool {
        guard let window = op.numbers("kernel"), let strides = op.numbers("stride"),
            let dilations = op.numbers("dilation"), window.count == 2, strides.count == 2, dilations.count == 2
        else { return false }
        return (window + strides + dilations).allSatisfy { $0 > 0 && $0 < 1 << 20 } && window[0] * window[1] < 1 << 24
    }

    static func make(_ op: Op) -> HostStep? {
        guard canTake(op), let window = op.numbers("kernel"), let strides = op.numbers("stride"),
            let dilations = op.numbers("dilation"), let pads = op.numbers("pads")
        else { return nil }
        let isMaximum = op.name == "cpu.max_pool2d"
        let (source, target) = (op.operands[0], op.results[0])
        return HostStep(op, operands: [source], results: [target]) { (shapes) throws(BackendError) in
            let (x, y) = (shapes[source], shapes[target])
            guard y.allSatisfy({ $0 > 0 }) else { return HostCall { _ in } }
            try checkSizes(x + y)
            let shape = coreai_convolution(x, y, window: window, strides: strides, dilations: dilations, pads: pads)
            let taps = window[0] * window[1]
            let parts = partCount(y.reduce(1, *), taps, atMost: y[1])
            return HostCall { [shape] memory in
                for image in 0..<x[0] {
                    let from = memory.floats(source) + image * x[1] * x[2] * x[3]
                    let to = memory.floats(target) + image * y[1] * y[2] * y[3]
                    inParts(parts) { part in
                        let rows = share(y[1], part, of: parts)
                        var shape = shape
                        if isMaximum {
                            kernels.pool_max(&shape, from, to, Int32(rows.lowerBound), Int32(rows.upperBound))
                            return
                        }
                        kernels.pool_mean(&shape, true, from, to, Int32(rows.lowerBound), Int32(rows.upperBound))
                        let line = y[2] * y[3]
                        for index in rows.lowerBound * line..<rows.upperBound * line { to[index] *= Float(taps) }
                    }
                }
            }
        }
    }
}
