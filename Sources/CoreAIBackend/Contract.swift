public import CoreAIGraph

public struct BackendInfo: Hashable, Sendable {
    public var name: String
    /// Enters cache keys: change it when the same segment would compile to other bytes.
    public var version: String
    public var unit: ComputeUnitKind
    public init(name: String, version: String, unit: ComputeUnitKind) {
        self.name = name
        self.version = version
        self.unit = unit
    }
}

/// An architecture that a backend compiles for, by the backend's own word.
public struct Target: Hashable, Sendable {
    public var name: String
    public init(_ name: String) { self.name = name }
}

/// A reason not to take an op: a sentence a user may read, with the number in it.
public struct Rejection: Hashable, Sendable, ExpressibleByStringInterpolation {
    public var reason: String
    public init(_ reason: String) { self.reason = reason }
    public init(stringLiteral value: String) { reason = value }
}

public struct Cost: Hashable, Sendable {
    public var nanoseconds: Int
    public var scratchBytes: Int
    public init(nanoseconds: Int, scratchBytes: Int = 0) {
        self.nanoseconds = nanoseconds
        self.scratchBytes = scratchBytes
    }
}

public struct Proposal: Sendable {
    public struct Group: Hashable, Sendable {
        public var ops: [OpID]
        public var cost: Cost
        /// All or nothing, such as an attention kernel.
        public var isAtomic: Bool
        public init(ops: [OpID], cost: Cost, isAtomic: Bool = false) {
            self.ops = ops
            self.cost = cost
            self.isAtomic = isAtomic
        }
    }
    public var groups: [Group]
    /// A reason for each op that is in no group.
    public var rejections: [OpID: Rejection]
    public init(groups: [Group] = [], rejections: [OpID: Rejection] = [:]) {
        self.groups = groups
        self.rejections = rejections
    }
}

/// A constant of a segment.
public struct Weight: Sendable {
    public var type: TensorType
    public var constant: Constant
    public init(type: TensorType, constant: Constant) {
        self.type = type
        self.constant = constant
    }
}

/// A backend's own word for a layout of weights.
public struct Packing: Hashable, Sendable {
    public var name: String
    public init(_ name: String) { self.name = name }
    /// As stored in the asset.
    public static let stored = Packing("stored")
}

public typealias ByteSink = (UnsafeRawBufferPointer) throws(BackendError) -> Void

/// How long work says how far it is and learns whether to go on.
public struct Monitor: Sendable {
    private let report: @Sendable (Double) -> Bool
    /// - Parameter report: takes a fraction done; false means stop.
    public init(_ report: @escaping @Sendable (Double) -> Bool = { _ in true }) { self.report = report }
    public func report(_ fraction: Double) throws(BackendError) {
        if !report(fraction) { throw BackendError(.cancelled, "cancelled") }
    }
}

/// What a backend compiled. Begins with a magic number and a version of the backend's own.
public struct Artifact: Hashable, Sendable {
    public var bytes: Bytes
    /// For each constant op of the segment, in order, the layout the executable wants it in.
    public var weights: [Packing]
    public init(bytes: Bytes, weights: [Packing]) {
        self.bytes = bytes
        self.weights = weights
    }
}

public struct FinalizedArtifact: Hashable, Sendable {
    public var bytes: Bytes
    public init(bytes: Bytes) { self.bytes = bytes }
}

/// What makes finalized bytes of one device useless on another: ids and driver versions.
public struct Fingerprint: Hashable, Sendable {
    public var text: String
    public init(_ text: String) { self.text = text }
}

/// The weights of one segment, in the order of its constant ops. Valid as long as the executable lives.
public protocol WeightSource: Sendable {
    func weight(_ index: Int) throws(BackendError) -> Weight
}

public enum Access: Hashable, Sendable { case read, write, readWrite }

public struct Slot: Hashable, Sendable {
    public var type: TensorType
    public var access: Access
    public init(_ type: TensorType, _ access: Access) {
        self.type = type
        self.access = access
    }
}

/// A tensor in device memory: row-major, `ScalarType.byteStride` bytes an element.
public struct Binding: Sendable {
    public var buffer: any DeviceBuffer
    public var byteOffset: Int
    public var shape: [Int]
    public init(_ buffer: any DeviceBuffer, byteOffset: Int = 0, shape: [Int]) {
        self.buffer = buffer
        self.byteOffset = byteOffset
        self.shape = shape
    }
}

public struct BackendError: Error, Sendable, CustomStringConvertible {
    public enum Code: Hashable, Sendable {
        /// Plan without this backend here.
        case unsupported
        case incompatibleArtifact, outOfMemory, deviceLost, invalidArgument, cancelled, failed
    }
    public var code: Code
    public var message: String
    public init(_ code: Code, _ message: String) {
        self.code = code
        self.message = message
    }
    public var description: String { message }
}
