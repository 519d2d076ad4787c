public import CoreAIGraph

/// The kinds of unit that can execute a model.
public enum ComputeUnitKind: Hashable, Sendable {
    case cpu, gpu, neuralEngine
}

/// Proposes and compiles. Needs no device, may be asked from any thread, and answers only from its arguments.
public protocol Backend: Sendable {
    var info: BackendInfo { get }
    /// The architectures it can compile for, whether or not this machine has such a device; the first is the default.
    var targets: [Target] { get }

    /// The ops of `graph` it can take, in groups, with their cost; a reason for each it cannot.
    func propose(for graph: Graph, on target: Target) throws(BackendError) -> Proposal

    /// Writes a weight in a layout that `compile` asked for.
    func pack(_ weight: Weight, _ packing: Packing, for target: Target, into sink: ByteSink) throws(BackendError)

    /// Compiles a segment of accepted ops to bytes that any device of `target` can load. Deterministic.
    func compile(_ segment: Segment, for target: Target, _ monitor: Monitor) throws(BackendError) -> Artifact

    func devices() throws(BackendError) -> [any Device]
}

/// Finalizes, loads, allocates, opens streams. Needs no compiler.
public protocol Device: AnyObject, Sendable {
    var target: Target { get }
    var fingerprint: Fingerprint { get }

    /// Bytes bound to this device and driver that make loading faster; nil if there is nothing to gain.
    func finalize(_ artifact: Artifact, _ monitor: Monitor) throws(BackendError) -> FinalizedArtifact?
    func load(_ artifact: Artifact, _ finalized: FinalizedArtifact?, weights: any WeightSource) throws(BackendError)
        -> any Executable
    func allocate(byteCount: Int) throws(BackendError) -> any DeviceBuffer
    /// The same memory as a buffer of this device, or nil if it has to be copied.
    func importing(_ memory: UnsafeMutableRawBufferPointer) throws(BackendError) -> (any DeviceBuffer)?
    func makeStream() throws(BackendError) -> any DeviceStream
}

/// A loaded artifact.
public protocol Executable: AnyObject, Sendable {
    /// One for each binding, in order: inputs, states, outputs.
    var slots: [Slot] { get }
    /// Shapes of the outputs for shapes of the inputs; nil if they depend on data, and then each such output is bound
    /// with its upper bound and followed by an int64 binding that receives its true sizes.
    func resultShapes(for inputs: [[Int]]) throws(BackendError) -> [[Int]]?
}

public protocol DeviceBuffer: AnyObject, Sendable {
    var byteCount: Int { get }
    /// The bytes as the host sees them; nil when it cannot.
    var hostBytes: UnsafeMutableRawBufferPointer? { get }
}

/// An ordered timeline of work. Used by one thread at a time.
public protocol DeviceStream: AnyObject, Sendable {
    func enqueue(_ executable: any Executable, _ bindings: [Binding], symbols: [Int?], after fences: [Fence])
        throws(BackendError) -> Fence
    func copy(_ source: Binding, to destination: Binding, after fences: [Fence]) throws(BackendError) -> Fence
    /// Blocks until the timeline reached `value`; throws what made the work fail, for that value and all later ones.
    func wait(for value: UInt64) throws(BackendError)
    /// Work enqueued from now on may be given up once `isCancelled` says so, and then fails as `cancelled`; nil ends that.
    func watch(_ isCancelled: (() -> Bool)?)
}

extension DeviceStream {
    /// A stream that cannot stop work under way finishes it.
    public func watch(_ isCancelled: (() -> Bool)?) {}
}

/// A point on a stream's timeline.
public struct Fence: Sendable {
    public let stream: any DeviceStream
    public let value: UInt64
    public init(stream: any DeviceStream, value: UInt64) {
        self.stream = stream
        self.value = value
    }
    public func wait() throws(BackendError) { try stream.wait(for: value) }
}
