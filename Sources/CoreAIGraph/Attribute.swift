/// A compile-time property of an op.
public indirect enum Attribute: Hashable, Sendable {
    case unit
    case bool(Bool)
    case integer(Int)
    case float(Double)
    case string(String)
    /// One of a closed list of words: a padding mode (`reflect`), an interpolation mode, a scatter mode, a combiner.
    case word(String)
    /// Integers known when planning, as expressions over the graph's symbols: axes, strides, bounds, sizes.
    case dimensions([Dimension])
    /// The path of a graph, as in an invoke's callee.
    case symbol([String])
    case type(ValueType)
    case elements(Constant)
    case array([Attribute])
    case dictionary([NamedAttribute])
}

public struct NamedAttribute: Hashable, Sendable {
    public var name: String
    public var value: Attribute
    public init(_ name: String, _ value: Attribute) {
        self.name = name
        self.value = value
    }
}

/// The elements of a constant tensor, row-major. The tensor's type is the result type of the op that holds it.
public struct Constant: Hashable, Sendable {
    public enum Packing: Hashable, Sendable {
        /// `ScalarType.byteStride` bytes an element; sub-byte values in the low bits of a byte each, not sign-extended.
        case elements
        /// Element k in bits k*w ..< (k+1)*w counted from bit 0 of byte 0.
        case bits
        /// One element (as in `elements`) that stands for all.
        case splat
    }
    public var bytes: Bytes
    public var packing: Packing
    public init(_ bytes: Bytes, packing: Packing = .elements) {
        self.bytes = bytes
        self.packing = packing
    }
}
