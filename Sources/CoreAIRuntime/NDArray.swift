public import CoreAIGraph
import Glibc

/// An array of any rank with a scalar type known at run time: a value with copy-on-write storage.
///
/// Strides count elements; byte offsets count bytes. New arrays are filled with zeros. An empty shape is one scalar,
/// and a size of 0 an array without elements.
public struct NDArray: @unchecked Sendable {
    public typealias ScalarType = CoreAIGraph.ScalarType

    /// Uniqueness is tested on the box; views retain the memory inside.
    final class Box: @unchecked Sendable {
        let scalarType: ScalarType
        let layout: ArrayLayout
        let memory: ArrayMemory

        init(_ scalarType: ScalarType, _ layout: ArrayLayout, _ memory: ArrayMemory) {
            self.scalarType = scalarType
            self.layout = layout
            self.memory = memory
        }

        func copied() -> Box {
            let byteCount = layout.byteCount(scalarType)
            let copy = ArrayMemory(byteCount: byteCount, zeroed: false)
            memcpy(copy.base, memory.base, byteCount)
            return Box(scalarType, layout, copy)
        }
    }

    var box: Box

    package init(_ scalarType: ScalarType, _ layout: ArrayLayout, zeroed: Bool = true) {
        box = Box(
            scalarType, layout, ArrayMemory(byteCount: layout.byteCount(scalarType), zeroed: zeroed))
    }

    /// An array with the shape, preferred strides and interleaving of a descriptor whose sizes are all known.
    public init(descriptor: consuming NDArrayDescriptor) {
        let descriptor = descriptor
        demand(
            !descriptor.hasDynamicShape,
            "NDArray: descriptor \(descriptor) has a dynamic size; use resolvingDynamicDimensions(_:) first")
        self.init(
            descriptor.scalarType,
            ArrayLayout(
                descriptor.scalarType, shape: descriptor.shape, strides: descriptor.preferredStrides,
                interleave: descriptor.interleaveLayout))
    }

    /// A row-major contiguous array.
    public init(shape: [Int], scalarType: ScalarType) {
        self.init(scalarType, ArrayLayout(scalarType, shape: shape))
    }

    /// - Parameter strides: one for each dimension, in elements.
    public init(shape: [Int], scalarType: ScalarType, strides: [Int]) {
        self.init(scalarType, ArrayLayout(scalarType, shape: shape, strides: strides))
    }

    /// - Parameter strides: one for each dimension, in elements; for the interleaved one, from block to block.
    public init(shape: [Int], scalarType: ScalarType, strides: [Int], interleaveLayout: InterleaveLayout) {
        self.init(
            scalarType, ArrayLayout(scalarType, shape: shape, strides: strides, interleave: interleaveLayout))
    }

    /// A row-major array of `scalars`, whose count must be the product of `shape`.
    ///
    /// `Scalar` is `Bool`, an integer type, `Float16`, `Float` or `Double`.
    public init<Scalar>(scalars: some Sequence<Scalar>, shape: [Int]) where Scalar: BitwiseCopyable {
        guard let scalarType = ScalarType(of: Scalar.self) else {
            fatalError("NDArray: \(Scalar.self) has no scalar type")
        }
        self.init(shape: shape, scalarType: scalarType)
        let expected = box.layout.elementCount
        let elements = UnsafeMutableBufferPointer(
            start: box.memory.base.assumingMemoryBound(to: Scalar.self), count: expected)
        var (rest, count) = elements.update(from: scalars)
        demand(
            count == expected && rest.next() == nil,
            "NDArray: \(count == expected ? "more than \(expected)" : "\(count)") scalars for shape \(shape), which takes \(expected)"
        )
    }

    /// An array over the caller's memory, without a copy. A mutation copies unless the array is uniquely held, like
    /// that of any other array.
    /// - Parameter deallocator: called once, when neither the array nor a copy nor a view refers to the memory.
    package init(
        unsafeBytesNoCopy bytes: UnsafeMutableRawBufferPointer, scalarType: ScalarType, shape: [Int],
        strides: [Int] = [], interleaveLayout: InterleaveLayout? = nil,
        deallocator: @escaping @Sendable (UnsafeMutableRawPointer, Int) -> Void
    ) {
        let layout = ArrayLayout(scalarType, shape: shape, strides: strides, interleave: interleaveLayout)
        demand(
            layout.byteCount(scalarType) <= bytes.count,
            "NDArray: \(scalarType.name) \(shape) takes \(layout.byteCount(scalarType)) bytes, the memory has \(bytes.count)"
        )
        box = Box(scalarType, layout, ArrayMemory(bytes, release: deallocator))
    }

    public var scalarType: ScalarType { box.scalarType }
    public var shape: [Int] { box.layout.shape }
    public var strides: [Int] { box.layout.strides }
    public var interleaveLayout: InterleaveLayout? { box.layout.interleave }

    /// Interleaving of one dimension: `factor` neighbours along it lie side by side.
    ///
    /// The element at index i lies `(i[d] / factor) * strides[d] + i[d] % factor` plus the other `i[k] * strides[k]`
    /// from the first one.
    public struct InterleaveLayout: Sendable, Equatable, Hashable {
        public var dimension: Int { _dimension }
        public var factor: Int { _factor }
        private let _dimension: Int
        private let _factor: Int

        public init(dimension: Int, factor: Int) {
            _dimension = dimension
            _factor = factor
        }
    }
}

extension NDArray {
    /// The elements, kept alive by the memory alone.
    var reference: ArrayReference {
        ArrayReference(box.memory.base, box.scalarType, box.layout, owner: box.memory)
    }

    /// The elements, kept alive by the array's box: whoever mutates another copy of the array copies first.
    package var sharedReference: ArrayReference {
        ArrayReference(box.memory.base, box.scalarType, box.layout, owner: box)
    }

    /// The elements for writing, after a copy if the array is shared.
    var mutableReference: ArrayReference {
        mutating get {
            if !isKnownUniquelyReferenced(&box) { box = box.copied() }
            box.memory.checkMutable()
            return reference
        }
    }
}

extension ScalarType {
    /// The scalar type of a Swift type, or nil if it has none.
    package init?<T>(of type: T.Type) {
        switch type {
        case is Bool.Type: self = .bool
        case is Int8.Type: self = .int8
        case is Int16.Type: self = .int16
        case is Int32.Type: self = .int32
        case is Int64.Type, is Int.Type: self = .int64
        case is Int128.Type: self = .int128
        case is UInt8.Type: self = .uint8
        case is UInt16.Type: self = .uint16
        case is UInt32.Type: self = .uint32
        case is UInt64.Type, is UInt.Type: self = .uint64
        case is UInt128.Type: self = .uint128
        case is Float16.Type: self = .float16
        case is Float.Type: self = .float32
        case is Double.Type: self = .float64
        default: return nil
        }
    }
}
