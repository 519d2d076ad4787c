import CoreAIBackend
import CoreAIGraph
import CoreAIOps

/// The bounds of `slice` and `slice_update`, which may depend on symbols.
struct SliceBounds: Sendable {
    private let start: [Dimension]
    private let end: [Dimension]
    private let steps: [Dimension]

    /// - Returns: nil if they are known only at run time.
    init?(_ op: Op) {
        guard case .dimensions(let start)? = op[attribute: "start"], case .dimensions(let end)? = op[attribute: "end"],
            case .dimensions(let steps)? = op[attribute: "stride"]
        else { return nil }
        (self.start, self.end, self.steps) = (start, end, steps)
    }

    /// The part of a dense tensor that a slice covers: how many elements along each axis, how far apart, and where it begins.
    func walk(_ shape: [Int], _ symbols: [Int?]) throws(BackendError) -> (sizes: [Int], strides: [Int], offset: Int) {
        var (sizes, strides, offset) = (shape, rowMajorStrides(shape), 0)
        for axis in shape.indices {
            guard start.count == shape.count, end.count == shape.count, steps.count == shape.count,
                let first = start[axis].evaluated(symbols), let last = end[axis].evaluated(symbols),
                let step = steps[axis].evaluated(symbols), step != 0
            else { throw BackendError(.invalidArgument, "a bound of a slice has no value") }
            let range = SliceRange(size: shape[axis], start: first, end: last, stride: step)
            sizes[axis] = range.count
            offset += range.first * strides[axis]
            // With one element or none the step is never taken, and may be too large to multiply.
            if range.count > 1 { strides[axis] *= step }
        }
        return (sizes, strides, offset)
    }
}
