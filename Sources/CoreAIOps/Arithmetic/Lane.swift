import CKernels
package import CoreAIGraph

/// A type that kernels add and multiply in: `Float` for itself and for narrower floats, `Double`, `Int64` for integers up to
/// 64 bits and booleans, `UInt64`, and complex numbers of `Float` or `Double`. Integers wrap.
package protocol Lane: BitwiseCopyable, Sendable {
    static var zero: Self { get }
    static var one: Self { get }
    static func sum(_ a: Self, _ b: Self) -> Self
    static func product(_ a: Self, _ b: Self) -> Self
    /// Calls `body` with the elements of a tensor, converted if they are of another type.
    static func reading<R>(_ tensor: HostTensor, _ body: (UnsafeMutablePointer<Self>) -> R) -> R
    /// Calls `body` with memory for the elements of a tensor, zero at first, and stores what it leaves there.
    static func writing(_ tensor: HostTensor, _ body: (UnsafeMutablePointer<Self>) -> Void)
}

/// A lane whose numbers have an order.
package protocol OrderedLane: Lane {
    /// The greater one; a NaN wins.
    static func greater(_ a: Self, _ b: Self) -> Self
    static func lesser(_ a: Self, _ b: Self) -> Self
    /// The greater one; a NaN loses.
    static func greaterNumber(_ a: Self, _ b: Self) -> Self
    static func lesserNumber(_ a: Self, _ b: Self) -> Self
    static func isGreater(_ a: Self, _ b: Self) -> Bool
    /// A sum divided by the number of its terms.
    static func mean(_ sum: Self, of count: Int) -> Self
    /// What no element of the type is below, and what none is above.
    static func bounds(of scalar: ScalarType) -> (Self, Self)
}

/// A computation written once for all lanes.
package protocol LaneWork {
    func run<T: Lane>(as lane: T.Type)
}

package protocol OrderedLaneWork {
    func run<T: OrderedLane>(as lane: T.Type)
}

extension ScalarType {
    /// True for the types that sums and products are defined on.
    package var hasArithmetic: Bool { hasOrder || isComplex }

    /// True for the types that folds are defined on.
    package var hasOrder: Bool {
        switch self {
        case .bool, .float16, .bfloat16, .float32, .float64: true
        default: isInteger && bitWidth >= 8 && bitWidth <= 64
        }
    }

    package func perform(_ work: some OrderedLaneWork) throws(KernelError) {
        switch self {
        case .float64: work.run(as: Double.self)
        case .float16, .bfloat16, .float32: work.run(as: Float.self)
        case .uint64: work.run(as: UInt64.self)
        case _ where hasOrder: work.run(as: Int64.self)
        default: throw KernelError("no arithmetic on \(name)")
        }
    }

    package func perform(_ work: some LaneWork) throws(KernelError) {
        switch self {
        case .float64: work.run(as: Double.self)
        case .float16, .bfloat16, .float32: work.run(as: Float.self)
        case .uint64: work.run(as: UInt64.self)
        case .cfloat64: work.run(as: ComplexLane<Double>.self)
        case .cfloat16, .cfloat32: work.run(as: ComplexLane<Float>.self)
        case _ where hasOrder: work.run(as: Int64.self)
        default: throw KernelError("no arithmetic on \(name)")
        }
    }
}

// MARK: Real numbers

package protocol FloatLane: OrderedLane, BinaryFloatingPoint {
    static func exponential(_ x: Self) -> Self
}

extension FloatLane {
    @inline(__always) package static var one: Self { 1 }
    @inline(__always) package static func sum(_ a: Self, _ b: Self) -> Self { a + b }
    @inline(__always) package static func product(_ a: Self, _ b: Self) -> Self { a * b }
    @inline(__always) package static func greater(_ a: Self, _ b: Self) -> Self { a >= b || a.isNaN ? a : b }
    @inline(__always) package static func lesser(_ a: Self, _ b: Self) -> Self { a <= b || a.isNaN ? a : b }
    @inline(__always) package static func greaterNumber(_ a: Self, _ b: Self) -> Self { b > a || a.isNaN ? b : a }
    @inline(__always) package static func lesserNumber(_ a: Self, _ b: Self) -> Self { b < a || a.isNaN ? b : a }
    @inline(__always) package static func isGreater(_ a: Self, _ b: Self) -> Bool { a > b }
    @inline(__always) package static func mean(_ sum: Self, of count: Int) -> Self { sum / Self(count) }
    package static func bounds(of scalar: ScalarType) -> (Self, Self) { (-.infinity, .infinity) }
}

package protocol IntegerLane: OrderedLane, FixedWidthInteger {}

extension IntegerLane {
    @inline(__always) package static var one: Self { 1 }
    @inline(__always) package static func sum(_ a: Self, _ b: Self) -> Self { a &+ b }
    @inline(__always) package static func product(_ a: Self, _ b: Self) -> Self { a &* b }
    @inline(__always) package static func greater(_ a: Self, _ b: Self) -> Self { a > b ? a : b }
    @inline(__always) package static func lesser(_ a: Self, _ b: Self) -> Self { a < b ? a : b }
    @inline(__always) package static func greaterNumber(_ a: Self, _ b: Self) -> Self { a > b ? a : b }
    @inline(__always) package static func lesserNumber(_ a: Self, _ b: Self) -> Self { a < b ? a : b }
    @inline(__always) package static func isGreater(_ a: Self, _ b: Self) -> Bool { a > b }
    package static func mean(_ sum: Self, of count: Int) -> Self { count == 0 ? 0 : sum / Self(count) }

    package static func reading<R>(_ tensor: HostTensor, _ body: (UnsafeMutablePointer<Self>) -> R) -> R {
        if isStored(as: tensor.scalar) { return body(tensor.pointer()) }
        return withScratch(tensor.count) { scratch in
            for index in 0..<tensor.count { scratch[index] = Self(truncatingIfNeeded: tensor.integer(at: index)) }
            return body(scratch)
        }
    }

    package static func writing(_ tensor: HostTensor, _ body: (UnsafeMutablePointer<Self>) -> Void) {
        withScratch(tensor.count) { scratch in
            body(scratch)
            for index in 0..<tensor.count { tensor.storeWrapped(Int(truncatingIfNeeded: scratch[index]), at: index) }
        }
    }

    private static func isStored(as scalar: ScalarType) -> Bool {
        scalar.bitWidth == bitWidth && scalar.isSignedInteger == isSigned
    }
}

extension Int64: IntegerLane {
    package static func bounds(of scalar: ScalarType) -> (Int64, Int64) {
        if scalar == .bool { return (0, 1) }
        return scalar.isSignedInteger
            ? (.min >> (64 - scalar.bitWidth), .max >> (64 - scalar.bitWidth)) : (0, .max >> (63 - scalar.bitWidth))
    }
}

extension UInt64: IntegerLane {
    package static func bounds(of scalar: ScalarType) -> (UInt64, UInt64) { (.min, .max) }
}

extension Double: FloatLane {
    package static func reading<R>(_ tensor: HostTensor, _ body: (UnsafeMutablePointer<Double>) -> R) -> R {
        body(tensor.base.assumingMemoryBound(to: Double.self))
    }

    package static func writing(_ tensor: HostTensor, _ body: (UnsafeMutablePointer<Double>) -> Void) {
        let memory = tensor.base.assumingMemoryBound(to: Double.self)
        memory.update(repeating: 0, count: tensor.byteCount / MemoryLayout<Double>.size)
        body(memory)
    }
}

extension Float: FloatLane {
    package static func reading<R>(_ tensor: HostTensor, _ body: (UnsafeMutablePointer<Float>) -> R) -> R {
        let part = tensor.scalar.complexPart ?? tensor.scalar
        if part == .float32 { return body(tensor.base.assumingMemoryBound(to: Float.self)) }
        let count = tensor.byteCount / part.byteStride
        return withScratch(count) { scratch in
            if part == .float16 {
                coreai_widen_half(tensor.base.assumingMemoryBound(to: UInt16.self), scratch, count)
            } else {
                let source = tensor.base.assumingMemoryBound(to: UInt16.self)
                for index in 0..<count { scratch[index] = Float(bitPattern: UInt32(source[index]) << 16) }
            }
            return body(scratch)
        }
    }

    package static func writing(_ tensor: HostTensor, _ body: (UnsafeMutablePointer<Float>) -> Void) {
        let part = tensor.scalar.complexPart ?? tensor.scalar
        let count = tensor.byteCount / part.byteStride
        if part == .float32 {
            let memory = tensor.base.assumingMemoryBound(to: Float.self)
            memory.update(repeating: 0, count: count)
            return body(memory)
        }
        withScratch(count) { scratch in
            body(scratch)
            if part == .float16 {
                let target = tensor.base.assumingMemoryBound(to: UInt16.self)
                coreai_narrow_half(scratch, target, count)
            } else {
                let target = tensor.base.assumingMemoryBound(to: UInt16.self)
                for index in 0..<count { target[index] = bfloat16Bits(scratch[index]) }
            }
        }
    }
}

// MARK: Complex numbers

package struct ComplexLane<Part: FloatLane>: Lane {
    var real: Part
    var imaginary: Part

    package static var zero: Self { Self(real: .zero, imaginary: .zero) }
    package static var one: Self { Self(real: .one, imaginary: .zero) }

    @inline(__always) package static func sum(_ a: Self, _ b: Self) -> Self {
        Self(real: a.real + b.real, imaginary: a.imaginary + b.imaginary)
    }

    @inline(__always) package static func product(_ a: Self, _ b: Self) -> Self {
        Self(
            real: a.real * b.real - a.imaginary * b.imaginary, imaginary: a.real * b.imaginary + a.imaginary * b.real)
    }

    package static func reading<R>(_ tensor: HostTensor, _ body: (UnsafeMutablePointer<Self>) -> R) -> R {
        Part.reading(tensor) { parts in body(UnsafeMutableRawPointer(parts).assumingMemoryBound(to: Self.self)) }
    }

    package static func writing(_ tensor: HostTensor, _ body: (UnsafeMutablePointer<Self>) -> Void) {
        Part.writing(tensor) { parts in body(UnsafeMutableRawPointer(parts).assumingMemoryBound(to: Self.self)) }
    }
}

/// Calls `body` with zeroed memory for `count` elements that lives as long as the call.
package func withScratch<T: Lane, R>(_ count: Int, _ body: (UnsafeMutablePointer<T>) -> R) -> R {
    let scratch = UnsafeMutablePointer<T>.allocate(capacity: max(count, 1))
    defer { scratch.deallocate() }
    scratch.initialize(repeating: .zero, count: count)
    return body(scratch)
}
