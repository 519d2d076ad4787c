public import CoreAIGraph

extension NDArray {
    @_lifetime(immortal)
    public func rawView() -> RawView { RawView(reference) }

    /// Copies a shared array first.
    @_lifetime(immortal)
    public mutating func mutableRawView() -> MutableRawView { MutableRawView(mutableReference) }

    /// Elements of any scalar type to read. Keeps the memory of an array, a buffer or a surface alive.
    public struct RawView: ~Escapable {
        let reference: ArrayReference

        @_lifetime(immortal) init(_ reference: ArrayReference) { self.reference = reference }

        /// - Parameters:
        ///   - byteOffset: where the first element begins.
        ///   - strides: in elements; empty means row-major.
        @_lifetime(copy bytes)
        public init(
            bytes: RawSpan, byteOffset: Int = 0, scalarType: ScalarType, shape: [Int], strides: [Int] = [],
            interleaveLayout: InterleaveLayout? = nil
        ) {
            let start = bytes.withUnsafeBytes { UnsafeMutableRawPointer(mutating: $0.baseAddress) }
            let reference = ArrayReference(
                bytes: start, byteCount: bytes.byteCount, byteOffset: byteOffset, scalarType: scalarType, shape: shape,
                strides: strides, interleave: interleaveLayout, owner: nil)
            self = _overrideLifetime(RawView(reference), copying: bytes)
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
            self = _overrideLifetime(RawView(reference), borrowing: metalBuffer)
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
            self = _overrideLifetime(RawView(reference), borrowing: ioSurface)
        }

        public var scalarType: ScalarType { reference.scalarType }
        public var shape: Span<Int> { @_lifetime(borrow self) borrowing get { reference.layout.shape.span } }
        /// In elements.
        public var strides: Span<Int> { @_lifetime(borrow self) borrowing get { reference.layout.strides.span } }
        public var interleaveLayout: InterleaveLayout? { reference.layout.interleave }

        /// From the first to the last element, gaps included.
        public var bytes: RawSpan {
            @_lifetime(copy self) get {
                let span = RawSpan(_unsafeStart: reference.base, byteCount: reference.byteCount)
                return _overrideLifetime(span, copying: self)
            }
        }

        /// - Parameter body: takes the first element's address, valid during the call, and strides in elements.
        public func withUnsafeBytes<R, E>(
            _ body: (UnsafeRawPointer, _ shape: Span<Int>, _ strides: Span<Int>) throws(E) -> R
        ) throws(E) -> R where E: Error {
            defer { withExtendedLifetime(reference.owner) {} }
            return try body(
                UnsafeRawPointer(reference.base), reference.layout.shape.span, reference.layout.strides.span)
        }

        /// The elements as `T`, whose size must be the scalar type's; traps otherwise.
        @_lifetime(copy self)
        public consuming func view<T>(as type: T.Type = T.self) -> View<T> where T: BitwiseCopyable {
            reference.check(T.self)
            return _overrideLifetime(View<T>(reference), copying: self)
        }

        /// The part in `ranges`, of the same rank. Missing trailing ranges mean all; one out of bounds traps.
        @_lifetime(copy self) @_disfavoredOverload
        public func slice(at ranges: [any RangeExpression]) -> RawView {
            _overrideLifetime(RawView(reference.slice(at: ranges)), copying: self)
        }

        @_lifetime(copy self)
        public func slice<let indexRank: Int>(at ranges: [indexRank of any RangeExpression]) -> RawView {
            _overrideLifetime(RawView(reference.slice(at: ranges)), copying: self)
        }
    }
}
