package import CoreAIGraph
import Synchronization

/// Elements in memory that `owner` keeps alive: what every view is made of. Carries no lifetime of its own.
package struct ArrayReference: @unchecked Sendable {
    /// The address of the first element.
    package let base: UnsafeMutableRawPointer
    package let scalarType: ScalarType
    package let layout: ArrayLayout
    /// Nil for memory of a span, which the span's lifetime keeps valid.
    package let owner: AnyObject?

    package init(
        _ base: UnsafeMutableRawPointer, _ scalarType: ScalarType, _ layout: ArrayLayout, owner: AnyObject?
    ) {
        self.base = base
        self.scalarType = scalarType
        self.layout = layout
        self.owner = owner
    }

    /// A view of `byteCount` bytes. Traps when they do not hold the elements.
    package init(
        bytes: UnsafeMutableRawPointer?, byteCount: Int, byteOffset: Int, scalarType: ScalarType, shape: [Int],
        strides: [Int], interleave: NDArray.InterleaveLayout?, owner: AnyObject?
    ) {
        let layout = ArrayLayout(scalarType, shape: shape, strides: strides, interleave: interleave)
        let needed = layout.byteCount(scalarType)
        demand(
            byteOffset >= 0 && byteOffset <= byteCount && needed <= byteCount - byteOffset,
            "NDArray: \(scalarType.name) \(shape) with strides \(layout.strides) at byte \(byteOffset) takes \(needed) bytes, the memory has \(byteCount)"
        )
        self.init((bytes ?? Self.nowhere) + (bytes == nil ? 0 : byteOffset), scalarType, layout, owner: owner)
    }

    /// An address for arrays without elements.
    nonisolated(unsafe) static let nowhere = UnsafeMutableRawPointer.allocate(byteCount: 64, alignment: 64)

    package var byteCount: Int { layout.byteCount(scalarType) }

    /// Kernels can use these bytes as they are.
    package var isKernelForm: Bool {
        layout.isDense && !scalarType.isSubByte
            && UInt(bitPattern: base) % UInt(scalarType.byteStride.alignment) == 0
    }

    package func slice(at ranges: [any NDArray.RangeExpression]) -> ArrayReference {
        demand(
            ranges.count <= layout.rank, "NDArray: \(ranges.count) ranges for a slice of rank \(layout.rank)")
        let bounds = zip(ranges, layout.shape).map { $0.relative(to: 0..<$1) }
        let (part, offset) = layout.slice(bounds, of: scalarType)
        return ArrayReference(base + offset * scalarType.bitWidth / 8, scalarType, part, owner: owner)
    }

    /// Traps unless one `T` is as large as one element.
    func check<T: BitwiseCopyable>(_ type: T.Type) {
        demand(
            !scalarType.isSubByte && MemoryLayout<T>.size == scalarType.byteStride
                && MemoryLayout<T>.stride == scalarType.byteStride,
            "NDArray: a view as \(T.self) (\(MemoryLayout<T>.size) bytes) of an array of \(scalarType.name) (\(scalarType.bitWidth) bits each); use a type of the same size, or rawView()"
        )
    }
}

extension Int {
    /// The largest power of two that divides it, as far as elements need: at most 16.
    fileprivate var alignment: Int { Swift.min(self & -self, 16) }
}
