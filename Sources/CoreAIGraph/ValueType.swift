/// A tensor's element type and sizes, outermost first; rank 0 is one scalar.
public struct TensorType: Hashable, Sendable {
    public var scalar: ScalarType
    public var shape: [Dimension]
    /// A layout that the asset asks for; it never changes values.
    public var layout: LayoutConstraint?

    public init(_ scalar: ScalarType, _ shape: [Dimension], layout: LayoutConstraint? = nil) {
        self.scalar = scalar
        self.shape = shape
        self.layout = layout
    }

    public var rank: Int { shape.count }

    /// The sizes, if all of them are numbers.
    public var staticShape: [Int]? {
        let sizes = shape.compactMap(\.constant)
        return sizes.count == shape.count ? sizes : nil
    }

    public var elementCount: Dimension { shape.reduce(1, *) }

    /// The sizes under an assignment of the symbols; nil if one has no value or is negative.
    public func shape(_ symbols: [Int?]) -> [Int]? {
        var sizes: [Int] = []
        sizes.reserveCapacity(rank)
        for size in shape {
            guard let number = size.evaluated(symbols), number >= 0 else { return nil }
            sizes.append(number)
        }
        return sizes
    }
}

/// A hardware layout constraint: alignments (rank + 1 entries), interleave factors (rank entries), and backing store.
public struct LayoutConstraint: Hashable, Sendable {
    public var alignments: [Int]
    public var interleave: [Int]
    public var backing: Int
    public init(alignments: [Int], interleave: [Int], backing: Int) {
        self.alignments = alignments
        self.interleave = interleave
        self.backing = backing
    }
}

/// How the values of a sparse tensor are stored.
public struct SparseEncoding: Hashable, Sendable {
    public enum Scheme: Int, Hashable, Sendable { case bitmask, coo, csr, csc, bsr }
    public var scheme: Scheme
    public var positionWidth: Int
    public var coordinateWidth: Int
    public var storedCount: Int?
    public var blockSize: [Int]
    public init(scheme: Scheme, positionWidth: Int, coordinateWidth: Int, storedCount: Int?, blockSize: [Int] = []) {
        self.scheme = scheme
        self.positionWidth = positionWidth
        self.coordinateWidth = coordinateWidth
        self.storedCount = storedCount
        self.blockSize = blockSize
    }
}

public struct ImageType: Hashable, Sendable {
    /// Four-character pixel format code, for example `0x42475241` (BGRA).
    public var pixelFormat: UInt32
    public var height: Int
    public var width: Int
    public init(pixelFormat: UInt32, height: Int, width: Int) {
        self.pixelFormat = pixelFormat
        self.height = height
        self.width = width
    }
}

public indirect enum ValueType: Hashable, Sendable {
    case tensor(TensorType)
    case sparse(TensorType, SparseEncoding)
    case image(ImageType)
    /// A reference to memory that the caller owns. Occurs only in graphs as read.
    case handle(ValueType)
    /// An ordering between reads and writes of handles. Occurs only in graphs as read.
    case token

    public var tensor: TensorType? {
        switch self {
        case .tensor(let type), .sparse(let type, _): type
        default: nil
        }
    }
}

extension TensorType: CustomStringConvertible {
    /// `float32[1, 3, s0, s1]`
    public var description: String { "\(scalar.name)[\(shape.map(\.description).joined(separator: ", "))]" }
}

extension ValueType: CustomStringConvertible {
    public var description: String {
        switch self {
        case .tensor(let type): type.description
        case .sparse(let type, _): "sparse \(type)"
        case .image(let type): "image<\(type.pixelFormat)>[\(type.height), \(type.width)]"
        case .handle(let inner): "handle \(inner)"
        case .token: "token"
        }
    }
}
