/// A part of a graph that one backend runs: a graph of its own, and where it came from.
public struct Segment: Hashable, Sendable {
    public var backend: String
    public var graph: Graph
    /// The ops of the plan's graph that this segment holds, in the order of `graph.ops`.
    public var ops: [OpID]
    /// Groups of positions in `graph.ops` that belong together; a hint, not an order.
    public var clusters: [[Int]]
    /// The plan's values bound to the segment's inputs, states and outputs, in order.
    public var inputs: [ValueID]
    /// States that this segment alone reads and updates, in the memory they are in.
    public var states: [State]
    public var outputs: [ValueID]

    /// What a state holds before and after the segment has run.
    public struct State: Hashable, Sendable {
        public var input: ValueID
        public var output: ValueID
        public init(input: ValueID, output: ValueID) {
            self.input = input
            self.output = output
        }
    }

    public init(
        backend: String, graph: Graph, ops: [OpID], clusters: [[Int]], inputs: [ValueID], states: [State] = [],
        outputs: [ValueID]
    ) {
        self.backend = backend
        self.graph = graph
        self.ops = ops
        self.clusters = clusters
        self.inputs = inputs
        self.states = states
        self.outputs = outputs
    }

    /// The plan's values bound to the segment's slots, in order.
    public var bindings: [ValueID] { inputs + states.map(\.input) + outputs }
}

/// Where one op runs and, if that is not the preferred backend, why.
public struct PlacementNote: Hashable, Sendable {
    public var op: OpID
    public var name: String
    public var backend: String
    public var reason: String?
    public var location: SourceLocation?

    public init(op: OpID, name: String, backend: String, reason: String?, location: SourceLocation?) {
        self.op = op
        self.name = name
        self.backend = backend
        self.reason = reason
        self.location = location
    }
}

/// Two sizes that must agree at run time because an op needs them to.
public struct SizeConstraint: Hashable, Sendable {
    public var left: Dimension
    public var right: Dimension
    public var op: String
    public var location: SourceLocation?

    public init(_ left: Dimension, _ right: Dimension, op: Op) {
        self.left = left
        self.right = right
        self.op = op.name
        location = op.location
    }
}

/// The canonical graph of a function, cut into segments, with the order in which they run.
public struct Plan: Hashable, Sendable {
    public enum Step: Hashable, Sendable {
        case run(segment: Int)
        /// Evaluates the sizes of an op's results from the contents of its operands, before the segment that holds it.
        case resolveSizes(OpID)
        /// Runs a segment whose one op alone can tell the sizes of its results, and binds their symbols.
        case runAndBindSizes(segment: Int)
        /// Runs an `if` or a `while`, whose regions have plans of their own.
        case control(OpID)
    }

    public var graph: Graph
    public var segments: [Segment]
    public var steps: [Step]
    public var notes: [PlacementNote]
    /// For each op of control flow, the plans of its regions.
    public var subplans: [OpID: [Plan]]
    public var constraints: [SizeConstraint]
    /// Upper bounds of the symbols that `runAndBindSizes` binds.
    public var symbolBounds: [Int: Dimension]
    /// The name that stands for the executor itself in placement notes: control flow runs there.
    public static let host = "host"

    /// The notes of this plan and of its regions' plans, in order.
    public var allNotes: [PlacementNote] {
        notes.flatMap { note in [note] + (subplans[note.op] ?? []).flatMap(\.allNotes) }
    }

    /// The names of the backends that run something.
    public var backends: Set<String> {
        Set(segments.map(\.backend)).union(subplans.values.joined().flatMap(\.backends))
    }

    /// The segments of this plan and of its regions' plans.
    public var segmentCount: Int { segments.count + subplans.values.joined().reduce(0) { $0 + $1.segmentCount } }

    /// The target each backend named in the plan compiles for.
    public var targets: [String: String]

    public init(
        graph: Graph, segments: [Segment], steps: [Step], notes: [PlacementNote], subplans: [OpID: [Plan]] = [:],
        constraints: [SizeConstraint],
        symbolBounds: [Int: Dimension], targets: [String: String]
    ) {
        self.graph = graph
        self.segments = segments
        self.steps = steps
        self.notes = notes
        self.subplans = subplans
        self.constraints = constraints
        self.symbolBounds = symbolBounds
        self.targets = targets
    }
}
