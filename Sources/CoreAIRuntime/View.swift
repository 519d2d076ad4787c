import CoreAIGraph

extension NDArray {
    /// The elements to read as `T`, whose size must be the scalar type's; traps otherwise.
    @_lifetime(immortal)
    public func view<T>(as type: T.Type = T.self) -> View<T> where T: BitwiseCopyable {
        reference.check(T.self)
        return View(reference)
    }

    /// The elements to write as `T`, whose size must be the scalar type's; traps otherwise. Copies a shared array
    /// first.
    @_lifetime(immortal)
    public mutating func mutableView<T>(as type: T.Type = T.self) -> MutableView<T> where T: BitwiseCopyable {
        box.scalarTypeCheck(T.self)
        return MutableView(mutableReference)
    }

    /// Elements of a Swift type to read. Keeps their memory alive.
    public struct View<Element: BitwiseCopyable>: ~Escapable {
        let reference: ArrayReference

        @_lifetime(immortal) init(_ reference: ArrayReference) { self.reference = reference }

        /// - Parameter strides: in elements; empty means row-major.
        @_lifetime(copy span)
        public init(span: Span<Element>, shape: [Int], strides: [Int] = []) {
            let reference = ArrayReference(span: span, shape: shape, strides: strides)
            self = _overrideLifetime(View(reference), copying: span)
        }

        public var rank: Int { reference.layout.rank }
        public var shape: Span<Int> { @_lifetime(borrow self) borrowing get { reference.layout.shape.span } }
        /// In elements.
        public var strides: Span<Int> { @_lifetime(borrow self) borrowing get { reference.layout.strides.span } }
        public var interleaveLayout: InterleaveLayout? { reference.layout.interleave }
        /// Row-major without padding.
        public var isContiguous: Bool { reference.layout.isDense }

        /// The elements in row-major order, or nil if they do not lie that way.
        public var contiguousElements: Span<Element>? {
            @_lifetime(copy self) borrowing get {
                guard isContiguous else { return nil }
                let span = Span(_unsafeStart: reference.pointer(to: Element.self), count: reference.layout.elementCount)
                return _overrideLifetime(span, copying: self)
            }
        }

        /// The element at `index`, which must be in bounds.
        public subscript<let rank: Int>(scalarAt index: InlineArray<rank, Int>) -> Element {
            reference.element(at: index).loadUnaligned(as: Element.self)
        }

        /// - Parameter body: takes the first element's address, valid during the call. It must honour the strides.
        public func withUnsafePointer<R, E>(
            _ body: (UnsafePointer<Element>, _ shape: Span<Int>, _ strides: Span<Int>) throws(E) -> R
        ) throws(E) -> R where E: Error {
            defer { withExtendedLifetime(reference.owner) {} }
            return try body(
                UnsafePointer(reference.pointer(to: Element.self)), reference.layout.shape.span,
                reference.layout.strides.span)
        }

        /// The part in `ranges`, of the same rank. Missing trailing ranges mean all; one out of bounds traps.
        @_lifetime(copy self) @_disfavoredOverload
        public func slice(at ranges: [any RangeExpression]) -> View<Element> {
            _overrideLifetime(View(reference.slice(at: ranges)), copying: self)
        }

        @_lifetime(copy self)
        public func slice<let indexRank: Int>(at ranges: [indexRank of any RangeExpression]) -> View<Element> {
            _overrideLifetime(View(reference.slice(at: ranges)), copying: self)
        }

        public var rawView: RawView {
            @_lifetime(copy self) borrowing get { _overrideLifetime(RawView(reference), copying: self) }
        }
    }
}

extension NDArray.Box {
    func scalarTypeCheck<T: BitwiseCopyable>(_ type: T.Type) {
        ArrayReference(memory.base, scalarType, layout, owner: nil).check(type)
    }
}

extension ArrayReference {
    init<Element: BitwiseCopyable>(span: Span<Element>, shape: [Int], strides: [Int]) {
        let scalarType = Self.scalarType(of: Element.self)
        let bytes = unsafe span.withUnsafeBytes { unsafe UnsafeMutableRawPointer(mutating: $0.baseAddress) }
        self.init(
            bytes: bytes, byteCount: span.count * MemoryLayout<Element>.stride, byteOffset: 0, scalarType: scalarType,
            shape: shape, strides: strides, interleave: nil, owner: nil)
    }

    static func scalarType<Element>(of type: Element.Type) -> ScalarType {
        guard let scalarType = ScalarType(of: Element.self) else {
            fatalError("NDArray: \(Element.self) has no scalar type; use a raw view")
        }
        return scalarType
    }

    func pointer<Element>(to type: Element.Type) -> UnsafeMutablePointer<Element> {
        base.assumingMemoryBound(to: Element.self)
    }

    /// The address of an element. Traps when the index is out of bounds or of another rank.
    func element<let rank: Int>(at index: InlineArray<rank, Int>) -> UnsafeMutableRawPointer {
        demand(rank == layout.rank, "NDArray: an index of rank \(rank) into shape \(layout.shape)")
        var offset = 0
        for axis in 0..<rank {
            let i = index[axis]
            demand(
                i >= 0 && i < layout.shape[axis],
                "NDArray: index \(i) is out of bounds for dimension \(axis) of shape \(layout.shape)")
            if let interleave = layout.interleave, interleave.dimension == axis {
                offset += i / interleave.factor * layout.strides[axis] + i % interleave.factor
            } else {
                offset += i * layout.strides[axis]
            }
        }
        return base + offset * scalarType.byteStride
    }

    func slice<let indexRank: Int>(at ranges: [indexRank of any NDArray.RangeExpression]) -> ArrayReference {
        var list: [any NDArray.RangeExpression] = []
        for i in 0..<indexRank { list.append(ranges[i]) }
        return slice(at: list)
    }
}
