import CoreAIBackend
import CoreAIGraph
import CoreAIOps

/// Resampling one axis after the other, in the order and with the arithmetic of the op table, so that the numbers are the
/// same.
enum InterpolateStep {
    /// One axis: for each position of the result, the two it reads and the weight of the second.
    private struct Pass: Sendable {
        var taps: [(first: Int, second: Int, weight: Float)]
        var size: Int
        var outer: Int
        var inner: Int

        var count: Int { outer * taps.count * inner }
    }

    static func make(_ op: Op) -> HostStep? {
        guard case .array(let scales)? = op[attribute: "scale"], case .array(let offsets)? = op[attribute: "offset"],
            case .word(let mode)? = op[attribute: "interpolation_mode"]
        else { return nil }
        let (source, target, isLinear) = (op.operands[0], op.results[0], mode == "linear")
        let numbers = zip(scales, offsets).map { ($0.number, $1.number) }
        return HostStep(op, name: "interpolate \(mode)", operands: [source], results: [target]) {
            (shapes) throws(BackendError) in
            let (x, y) = (shapes[source], shapes[target])
            guard y.reduce(1, *) > 0 else { return HostCall { _ in } }
            var passes: [Pass] = []
            var shape = x
            for axis in x.indices {
                guard x[axis] > 0 else { throw BackendError(.failed, "axis \(axis) has no elements to interpolate") }
                let (scale, offset) = numbers[axis]
                let list = (0..<y[axis]).map { (Float($0) + 0.5 - offset) / scale - 0.5 }
                guard list.allSatisfy(\.isFinite) else {
                    throw BackendError(
                        .failed,
                        "scale \(scale) and offset \(offset) of axis \(axis) give coordinates that are not finite")
                }
                let taps = taps(list, x[axis], isLinear)
                let isPlain =
                    taps.count == x[axis] && taps.indices.allSatisfy { taps[$0].first == $0 && taps[$0].weight == 0 }
                if !isPlain {
                    passes.append(
                        Pass(
                            taps: taps, size: x[axis], outer: shape[..<axis].reduce(1, *),
                            inner: shape[(axis + 1)...].reduce(1, *)))
                }
                shape[axis] = y[axis]
            }
            let largest = passes.dropLast().map(\.count).max() ?? 0
            let half = alignedByteCount(floats: largest)
            return HostCall(scratch: saturatingProduct([half, 2])) { [passes] memory in
                var from = UnsafePointer(memory.floats(source))
                guard !passes.isEmpty else {
                    memory.floats(target).update(from: from, count: y.reduce(1, *))
                    return
                }
                for (index, pass) in passes.enumerated() {
                    let scratch = (memory.scratch + index % 2 * half).assumingMemoryBound(to: Float.self)
                    let to = index == passes.count - 1 ? memory.floats(target) : scratch
                    run(pass, from, to)
                    from = UnsafePointer(to)
                }
            }
        }
    }

    private static func taps(_ coordinates: [Float], _ size: Int, _ isLinear: Bool)
        -> [(first: Int, second: Int, weight: Float)]
    {
        coordinates.map { coordinate in
            let clamped = min(max(coordinate, 0), Float(size - 1))
            guard isLinear else {
                let nearest = Int(clamped.rounded(.toNearestOrEven))
                return (nearest, nearest, 0)
            }
            let low = Int(clamped.rounded(.down))
            return (low, min(low + 1, size - 1), clamped - Float(low))
        }
    }

    private static func run(_ pass: Pass, _ x: UnsafePointer<Float>, _ y: UnsafeMutablePointer<Float>) {
        let (count, inner) = (pass.taps.count, pass.inner)
        let rows = pass.outer * count
        let parts = partCount(pass.count, 4, atMost: rows)
        inParts(parts) { part in
            pass.taps.withUnsafeBufferPointer { taps in
                for row in share(rows, part, of: parts) {
                    let (block, tap) = (row / count * pass.size, taps[row % count])
                    let (a, b) = (x + (block + tap.first) * inner, x + (block + tap.second) * inner)
                    let out = y + row * inner
                    if tap.weight == 0 {
                        out.update(from: a, count: inner)
                    } else {
                        for index in 0..<inner { out[index] = a[index] * (1 - tap.weight) + b[index] * tap.weight }
                    }
                }
            }
        }
    }
}

extension Attribute {
    fileprivate var number: Float { if case .float(let value) = self { Float(value) } else { .nan } }
}
