package import CoreAIGraph

/// Where the elements of an array lie: sizes, strides in elements, and at most one interleaved dimension.
///
/// Types narrower than a byte are packed, low bits first. Their rows begin on a byte: the default row stride is the
/// size rounded up to the next count of elements that fills whole bytes.
package struct ArrayLayout: Hashable, Sendable {
    package let shape: [Int]
    package let strides: [Int]
    package let interleave: NDArray.InterleaveLayout?

    /// - Parameter strides: in elements, block strides for the interleaved dimension; empty means the default of
    ///   `shape`.
    package init(
        _ scalar: ScalarType, shape: [Int], strides: [Int] = [], interleave: NDArray.InterleaveLayout? = nil
    ) {
        demand(shape.allSatisfy { $0 >= 0 }, "NDArray: shape \(shape) has a negative size")
        if let interleave {
            demand(
                shape.indices.contains(interleave.dimension) && interleave.factor > 0,
                "NDArray: interleaving dimension \(interleave.dimension) by \(interleave.factor) does not fit shape \(shape)"
            )
            demand(!scalar.isSubByte, "NDArray: an interleaved array of \(scalar.name) is not supported")
        }
        let strides =
            strides.isEmpty
            ? Self.defaultStrides(scalar, shape: shape, interleave: interleave) : strides
        demand(
            strides.count == shape.count, "NDArray: \(strides.count) strides \(strides) for shape \(shape)")
        demand(strides.allSatisfy { $0 >= 0 }, "NDArray: strides \(strides) have a negative number")
        self.shape = shape
        self.strides = strides
        self.interleave = interleave
    }

    /// Row-major strides.
    package static func defaultStrides(
        _ scalar: ScalarType, shape: [Int], interleave: NDArray.InterleaveLayout? = nil
    ) -> [Int] {
        var sizes = shape
        var step = 1
        if let interleave, sizes.indices.contains(interleave.dimension), interleave.factor > 0 {
            sizes[interleave.dimension] = interleave.blocks(in: shape)
            step = interleave.factor
        } else if scalar.isSubByte, let last = sizes.last {
            sizes[sizes.count - 1] = last.roundedUp(toMultipleOf: scalar.elementsToFillBytes)
        }
        var strides = [Int](repeating: step, count: sizes.count)
        for axis in sizes.indices.reversed() {
            strides[axis] = step
            let (next, overflow) = step.multipliedReportingOverflow(by: max(sizes[axis], 1))
            demand(!overflow, "NDArray: shape \(shape) has more elements than memory can hold")
            step = next
        }
        return strides
    }

    package var rank: Int { shape.count }

    package var elementCount: Int { shape.reduce(1, *) }

    /// Row-major, no padding, not interleaved.
    package var isDense: Bool {
        guard interleave == nil else { return false }
        var step = 1
        for axis in shape.indices.reversed() where shape[axis] != 1 {
            if shape[axis] == 0 { return true }
            if strides[axis] != step { return false }
            step *= shape[axis]
        }
        return true
    }

    /// The number of elements at the end of each row-major sequence that lie side by side.
    package var runLength: Int {
        guard interleave == nil else { return 1 }
        var run = 1
        for axis in shape.indices.reversed() where shape[axis] != 1 {
            if strides[axis] != run { break }
            run *= shape[axis]
        }
        return run
    }

    /// The elements from the first to the last one that an index can reach; 0 for an empty array.
    package var span: Int {
        if shape.contains(0) { return 0 }
        var last = 0
        for axis in shape.indices {
            var steps = shape[axis] - 1
            if let interleave, interleave.dimension == axis {
                steps = interleave.blocks(in: shape) - 1
                last = Self.add(last, interleave.factor - 1, shape)
            }
            let (distance, overflow) = steps.multipliedReportingOverflow(by: strides[axis])
            demand(!overflow, "NDArray: shape \(shape) with strides \(strides) exceeds memory")
            last = Self.add(last, distance, shape)
        }
        return last + 1
    }

    private static func add(_ a: Int, _ b: Int, _ shape: [Int]) -> Int {
        let (sum, overflow) = a.addingReportingOverflow(b)
        demand(!overflow, "NDArray: shape \(shape) exceeds memory")
        return sum
    }

    /// The bytes that hold every element.
    package func byteCount(_ scalar: ScalarType) -> Int {
        let (bits, overflow) = span.multipliedReportingOverflow(by: scalar.bitWidth)
        demand(!overflow, "NDArray: shape \(shape) of \(scalar.name) exceeds memory")
        return (bits + 7) / 8
    }

    /// The distance of an element from the first one, in elements. The index must be in bounds.
    package func offset(of index: some Collection<Int>) -> Int {
        var offset = 0
        for (axis, i) in index.enumerated() {
            if let interleave, interleave.dimension == axis {
                offset += i / interleave.factor * strides[axis] + i % interleave.factor
            } else {
                offset += i * strides[axis]
            }
        }
        return offset
    }

    /// The layout of the elements in `ranges` (missing trailing ones mean all) and how far the first one lies, in
    /// elements.
    package func slice(_ ranges: [Range<Int>], of scalar: ScalarType) -> (layout: ArrayLayout, offset: Int) {
        demand(ranges.count <= rank, "NDArray: \(ranges.count) ranges for a slice of rank \(rank)")
        var sizes = shape
        var starts = [Int](repeating: 0, count: rank)
        for (axis, range) in ranges.enumerated() {
            demand(
                range.lowerBound >= 0 && range.upperBound <= shape[axis],
                "NDArray: slice \(range) is out of bounds for dimension \(axis) of shape \(shape)")
            if let interleave, interleave.dimension == axis, !range.isEmpty {
                demand(
                    range.lowerBound % interleave.factor == 0
                        && (range.upperBound % interleave.factor == 0 || range.upperBound == shape[axis]),
                    "NDArray: slice \(range) of interleaved dimension \(axis) must begin and end on a multiple of \(interleave.factor)"
                )
            }
            sizes[axis] = range.count
            starts[axis] = range.lowerBound
        }
        let layout = ArrayLayout(scalar, shape: sizes, strides: strides, interleave: interleave)
        let offset = sizes.contains(0) ? 0 : self.offset(of: starts)
        demand(
            offset * scalar.bitWidth % 8 == 0,
            "NDArray: a slice of \(scalar.name) at \(starts) does not begin on a byte")
        return (layout, offset)
    }
}

extension NDArray.InterleaveLayout {
    func blocks(in shape: [Int]) -> Int { (shape[dimension] + factor - 1) / factor }
}

extension ScalarType {
    /// The smallest count of elements whose bits fill whole bytes.
    var elementsToFillBytes: Int {
        switch bitWidth {
        case 1, 3, 5, 7: 8
        case 2, 6: 4
        case 4: 2
        default: 1
        }
    }
}

extension Int {
    func roundedUp(toMultipleOf factor: Int) -> Int { (self + factor - 1) / factor * factor }
}
