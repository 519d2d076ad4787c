/// A dense tensor seen along one axis: `outer` blocks of `count` rows of `inner` elements.
package struct AxisBox {
    package let outer: Int
    package let count: Int
    package let inner: Int

    package init(_ shape: [Int], _ axis: Int) {
        outer = shape[..<axis].reduce(1, *)
        count = shape[axis]
        inner = shape[(axis + 1)...].reduce(1, *)
    }

    /// Calls `body` with the number of each line along the axis, in row-major order of the other axes, and the offset of
    /// its first element. The line's elements are `inner` apart.
    @inline(__always)
    package func forEachLine(_ body: (_ line: Int, _ start: Int) -> Void) {
        for block in 0..<outer {
            for column in 0..<inner { body(block * inner + column, block * count * inner + column) }
        }
    }
}
