public import CoreAIGraph

extension NDArray {
    /// Elements of any scalar type to write. Keeps the memory of an array, a buffer or a surface alive.
    public struct MutableRawView: ~Copyable, ~Escapable {
        let reference: ArrayReference

        @_lifetime(immortal) init(_ reference: ArrayReference) { self.reference = reference }

        /// - Parameters:
        ///   - byteOffset: where the first element begins.
        ///   - strides: in elements; empty means row-major.
        @_lifetime(copy mutableBytes)
        public init(
            mutableBytes: consuming MutableRawSpan, byteOffset: Int = 0, scalarType: ScalarType, shape: [Int],
            strides: [Int] = [], interleaveLayout: InterleaveLayout? = nil
        ) {
            let start = mutableBytes.withUnsafeMutableBytes { $0.baseAddress }
            let reference = ArrayReference(
                bytes: start, byteCount: mutableBytes.byteCount, byteOffset: byteOffset, scalarType: scalarType,
                shape: shape, strides: strides, interleave: interleaveLayout, owner: nil)
            self = _overrideLifetime(MutableRawView(reference), copying: mutableBytes)
        }

        /// - Parameter byteOffset: where the first element begins.
        @_lifetime(borrow metalBuffer) @unsafe
        public init(
            metalBuffer: borrowing any MTLBuffer, byteOffset: Int = 0, scalarType: ScalarType, shape: [Int],
            strides: [Int] = [], interleaveLayout: InterleaveLayout? = nil
        ) {
            let reference = ArrayReference(
                bytes: metalBuffer.contents(), byteCount: metalBuffer.length, byteOffset: byteOffset,
                scalarType: scalarType, shape: shape, strides: strides, interleave: interleaveLayout,
                owner: copy metalBuffer)
            self = _overrideLifetime(MutableRawView(reference), borrowing: metalBuffer)
        }

        /// - Parameter byteOffset: where the first element begins.
        @_lifetime(borrow ioSurface) @unsafe
        public init(
            ioSurface: borrowing IOSurface, byteOffset: Int = 0, scalarType: ScalarType, shape: [Int],
            strides: [Int] = [], interleaveLayout: InterleaveLayout? = nil
        ) {
            let reference = ArrayReference(
                bytes: ioSurface.baseAddress, byteCount: ioSurface.allocationSize, byteOffset: byteOffset,
                scalarType: scalarType, shape: shape, strides: strides, interleave: interleaveLayout,
                owner: copy ioSurface)
            self = _overrideLifetime(MutableRawView(reference), borrowing: ioSurface)
        }

        public var scalarType: ScalarType { reference.scalarType }
        public var shape: Span<Int> { @_lifetime(borrow self) borrowing get { reference.layout.shape.span } }
        /// In elements.
        public var strides: Span<Int> { @_lifetime(borrow self) borrowing get { reference.layout.strides.span } }
        public var interleaveLayout: InterleaveLayout? { reference.layout.interleave }

        /// From the first to the last element, gaps included.
        public var mutableBytes: MutableRawSpan {
            @_lifetime(copy self) get {
                let span = MutableRawSpan(_unsafeStart: reference.base, byteCount: reference.byteCount)
                return _overrideLifetime(span, copying: self)
            }
        }

        /// The elements as `T`, whose size must be the scalar type's; traps otherwise.
        @_lifetime(copy self)
        public consuming func view<T>(as type: T.Type = T.self) -> MutableView<T> where T: BitwiseCopyable {
            reference.check(T.self)
            return _overrideLifetime(MutableView<T>(reference), copying: self)
        }

        /// - Parameter body: takes the first element's address, valid during the call, and strides in elements.
        public consuming func withUnsafeMutableBytes<R, E>(
            _ body: (UnsafeMutableRawPointer, _ shape: Span<Int>, _ strides: Span<Int>) throws(E) -> R
        ) throws(E) -> R where E: Error {
            let reference = reference
            defer { withExtendedLifetime(reference.owner) {} }
            return try body(reference.base, reference.layout.shape.span, reference.layout.strides.span)
        }

        public var rawView: RawView {
            @_lifetime(borrow self) borrowing get { _overrideLifetime(RawView(reference), borrowing: self) }
        }

        /// The part in `ranges`, of the same rank. Missing trailing ranges mean all; one out of bounds traps.
        @_lifetime(copy self) @_disfavoredOverload
        public consuming func slice(at ranges: [any RangeExpression]) -> MutableRawView {
            _overrideLifetime(MutableRawView(reference.slice(at: ranges)), copying: self)
        }

        @_lifetime(copy self)
        public consuming func slice<let indexRank: Int>(
            at ranges: [indexRank of any RangeExpression]
        ) -> MutableRawView {
            _overrideLifetime(MutableRawView(reference.slice(at: ranges)), copying: self)
        }

        /// Like `slice(at:)`, but this view can be used again afterwards.
        @_lifetime(&self) @_disfavoredOverload
        public mutating func mutatingSlice(at ranges: [any RangeExpression]) -> MutableRawView {
            let slice = MutableRawView(reference.slice(at: ranges))
            return _overrideLifetime(slice, mutating: &self)
        }

        @_lifetime(&self)
        public mutating func mutatingSlice<let indexRank: Int>(
            at ranges: [indexRank of any RangeExpression]
        ) -> MutableRawView {
            let slice = MutableRawView(reference.slice(at: ranges))
            return _overrideLifetime(slice, mutating: &self)
        }
    }
}
