public import CoreAIBackend
import CoreAIGraph

/// Where each operation of a function runs, and why, if not where it was preferred.
public struct PlacementReport: Sendable, Hashable {
    public struct Entry: Sendable, Hashable {
        /// The stored name, `primitive.conv2d_v1`.
        public let operation: String
        /// The backend that runs it, `openblas`.
        public let backend: String
        public let unit: ComputeUnitKind
        /// Why no backend that was asked earlier runs it; nil if the first one does.
        public let reason: String?
        /// Where in the author's source the operation came from, `net.py:12`, if the asset says.
        public let sourceLocation: String?
    }

    public let functionName: String
    /// What the options asked for.
    public let requestedUnit: ComputeUnitKind?
    /// One for each operation left after simplification, in program order.
    public let entries: [Entry]
    /// The number of pieces the function was cut into.
    public let segmentCount: Int
    /// Why the requested unit runs nothing, if it was asked for and is not there.
    public let note: String?

    init(_ plan: Plan, requested: ComputeUnitKind?, unitOf: [String: ComputeUnitKind]) {
        functionName = plan.graph.name
        requestedUnit = requested
        segmentCount = plan.segmentCount
        entries = plan.allNotes.map { note in
            Entry(
                operation: note.name, backend: note.backend, unit: unitOf[note.backend] ?? .cpu, reason: note.reason,
                sourceLocation: note.location?.description)
        }
        if let requested, !unitOf.values.contains(requested) {
            note = "no \(requested.displayName) is available on this machine; everything runs on the CPU"
        } else {
            note = nil
        }
    }

    /// Operations by backend, most first.
    public var countsByBackend: [(backend: String, count: Int)] {
        Dictionary(grouping: entries, by: \.backend).map { ($0.key, $0.value.count) }
            .sorted { ($1.1, $0.0) < ($0.1, $1.0) }
    }

    /// Operations by unit.
    public var countsByUnit: [ComputeUnitKind: Int] { Dictionary(grouping: entries, by: \.unit).mapValues(\.count) }
}

extension PlacementReport: CustomStringConvertible {
    /// `main: openblas 53 of 302, reference 249 of 302, in 107 segments`
    public var description: String {
        let counts = countsByBackend.map { "\($0.backend) \($0.count) of \(entries.count)" }.joined(separator: ", ")
        let pieces = "in \(segmentCount) segment\(segmentCount == 1 ? "" : "s")"
        return "\(functionName): \(counts.isEmpty ? "nothing to compute" : counts + ", " + pieces)"
            + (note.map { "; \($0)" } ?? "")
    }
}

extension ComputeUnitKind {
    var displayName: String {
        switch self {
        case .cpu: "CPU"
        case .gpu: "GPU"
        case .neuralEngine: "Neural Engine"
        }
    }
}
