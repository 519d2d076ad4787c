extension NDArray {
    /// What selects a part of one dimension in a slice.
    public protocol RangeExpression: Sendable {
        func relative(to dimension: Range<Int>) -> Range<Int>
    }
}

extension Int: NDArray.RangeExpression {
    public func relative(to dimension: Range<Int>) -> Range<Int> { self..<self + 1 }
}

extension Range: NDArray.RangeExpression where Bound == Int {
    public func relative(to dimension: Range<Int>) -> Range<Int> { self }
}

extension ClosedRange: NDArray.RangeExpression where Bound == Int {
    public func relative(to dimension: Range<Int>) -> Range<Int> { lowerBound..<upperBound + 1 }
}

extension PartialRangeUpTo: NDArray.RangeExpression where Bound == Int {
    public func relative(to dimension: Range<Int>) -> Range<Int> { dimension.lowerBound..<upperBound }
}

extension PartialRangeThrough: NDArray.RangeExpression where Bound == Int {
    public func relative(to dimension: Range<Int>) -> Range<Int> { dimension.lowerBound..<upperBound + 1 }
}

extension PartialRangeFrom: NDArray.RangeExpression where Bound == Int {
    public func relative(to dimension: Range<Int>) -> Range<Int> {
        demand(
            lowerBound <= dimension.upperBound,
            "NDArray: slice from \(lowerBound) is out of bounds for a dimension of size \(dimension.count)")
        return lowerBound..<dimension.upperBound
    }
}

/// The whole of a dimension; write `.all`.
@frozen public struct _AllRange: NDArray.RangeExpression, BitwiseCopyable {
    public init() {}
    public func relative(to dimension: Range<Int>) -> Range<Int> { dimension }
}

extension NDArray.RangeExpression where Self == _AllRange {
    public static var all: _AllRange { _AllRange() }
}
