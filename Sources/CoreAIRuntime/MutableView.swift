extension NDArray {
    /// Elements of a Swift type to write. Keeps their memory alive.
    public struct MutableView<Element: BitwiseCopyable>: ~Copyable, ~Escapable {
        let reference: ArrayReference

        @_lifetime(immortal) init(_ reference: ArrayReference) { self.reference = reference }

        /// - Parameter strides: in elements; empty means row-major.
        @_lifetime(copy mutableSpan)
        public init(mutableSpan: consuming MutableSpan<Element>, shape: [Int], strides: [Int] = []) {
            let reference = ArrayReference(span: mutableSpan.span, shape: shape, strides: strides)
            self = _overrideLifetime(MutableView(reference), copying: mutableSpan)
        }

        public var rank: Int { reference.layout.rank }
        public var shape: Span<Int> { @_lifetime(borrow self) borrowing get { reference.layout.shape.span } }
        /// In elements.
        public var strides: Span<Int> { @_lifetime(borrow self) borrowing get { reference.layout.strides.span } }
        public var interleaveLayout: InterleaveLayout? { reference.layout.interleave }
        /// Row-major without padding.
        public var isContiguous: Bool { reference.layout.isDense }

        /// The elements in row-major order, or nil if they do not lie that way.
        public var contiguousElements: MutableSpan<Element>? {
            @_lifetime(copy self) get {
                guard isContiguous else { return nil }
                let span = MutableSpan(
                    _unsafeStart: reference.pointer(to: Element.self), count: reference.layout.elementCount)
                return _overrideLifetime(span, copying: self)
            }
        }

        /// The element at `index`, which must be in bounds.
        public subscript<let rank: Int>(scalarAt index: InlineArray<rank, Int>) -> Element {
            get { reference.element(at: index).loadUnaligned(as: Element.self) }
            @_lifetime(self: copy self)
            set { reference.element(at: index).storeBytes(of: newValue, as: Element.self) }
        }

        /// Writes in row-major order whatever the strides. The sequence may be shorter than the view; a longer one
        /// traps.
        @_lifetime(self: copy self)
        public mutating func copyElements(from sequence: some Sequence<Element>) {
            var iterator = sequence.makeIterator()
            var isAtEnd = false
            reference.forEachElement { address in
                guard let element = iterator.next() else {
                    isAtEnd = true
                    return false
                }
                address.storeBytes(of: element, as: Element.self)
                return true
            }
            demand(
                isAtEnd || iterator.next() == nil,
                "NDArray: more elements to copy than shape \(reference.layout.shape) holds")
        }

        /// Writes in row-major order whatever the strides. The collection may be shorter than the view; a longer one
        /// traps.
        @_lifetime(self: copy self)
        public mutating func copyElements(fromContentsOf collection: some Collection<Element>) {
            let count = collection.count
            demand(
                count <= reference.layout.elementCount,
                "NDArray: \(count) elements to copy into shape \(reference.layout.shape)")
            if isContiguous {
                let elements = UnsafeMutableBufferPointer(start: reference.pointer(to: Element.self), count: count)
                _ = elements.update(fromContentsOf: collection)
            } else {
                copyElements(from: collection)
            }
        }

        /// - Parameter body: takes the first element's address, valid during the call. It must honour the strides.
        public consuming func withUnsafeMutablePointer<R, E>(
            _ body: (UnsafeMutablePointer<Element>, _ shape: Span<Int>, _ strides: Span<Int>) throws(E) -> R
        ) throws(E) -> R where E: Error {
            let reference = reference
            defer { withExtendedLifetime(reference.owner) {} }
            return try body(
                reference.pointer(to: Element.self), reference.layout.shape.span, reference.layout.strides.span)
        }

        /// The part in `ranges`, of the same rank. Missing trailing ranges mean all; one out of bounds traps.
        @_lifetime(copy self) @_disfavoredOverload
        public consuming func slice(at ranges: [any RangeExpression]) -> MutableView<Element> {
            _overrideLifetime(MutableView(reference.slice(at: ranges)), copying: self)
        }

        @_lifetime(copy self)
        public consuming func slice<let indexRank: Int>(
            at ranges: [indexRank of any RangeExpression]
        ) -> MutableView<Element> {
            _overrideLifetime(MutableView(reference.slice(at: ranges)), copying: self)
        }

        /// Like `slice(at:)`, but this view can be used again afterwards.
        @_lifetime(&self) @_disfavoredOverload
        public mutating func mutatingSlice(at ranges: [any RangeExpression]) -> MutableView<Element> {
            let slice = MutableView(reference.slice(at: ranges))
            return _overrideLifetime(slice, mutating: &self)
        }

        @_lifetime(&self)
        public mutating func mutatingSlice<let indexRank: Int>(
            at ranges: [indexRank of any RangeExpression]
        ) -> MutableView<Element> {
            let slice = MutableView(reference.slice(at: ranges))
            return _overrideLifetime(slice, mutating: &self)
        }

        public var view: View<Element> {
            @_lifetime(borrow self) borrowing get { _overrideLifetime(View(reference), borrowing: self) }
        }

        public var mutableRawView: MutableRawView {
            @_lifetime(copy self) get { _overrideLifetime(MutableRawView(reference), copying: self) }
        }
    }
}
