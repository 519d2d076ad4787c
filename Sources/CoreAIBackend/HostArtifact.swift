package import CoreAIGraph

/// The artifact of a host backend: the segment's text form with each constant replaced by its number.
package enum HostArtifact {
    private static let magic = Array("OpenCoreAI host segment 1\n".utf8)

    package static func encode(_ segment: Segment) -> Artifact {
        var graph = segment.graph
        var weights = 0
        for index in graph.ops.indices where graph.ops[index].isConstant {
            graph.ops[index].attributes = [NamedAttribute("weight", .integer(weights))]
            weights += 1
        }
        return Artifact(
            bytes: Bytes(copying: magic + Array(graph.text().utf8)),
            weights: Array(repeating: .stored, count: weights))
    }

    package static func decode(_ artifact: Artifact) throws(BackendError) -> Graph {
        let text: String? = artifact.bytes.withUnsafeBytes { bytes in
            bytes.starts(with: magic) ? String(decoding: bytes.dropFirst(magic.count), as: UTF8.self) : nil
        }
        guard let text else {
            throw BackendError(.incompatibleArtifact, "the artifact is not a host segment of this version")
        }
        do {
            return try Graph(parsing: text)
        } catch {
            throw BackendError(.incompatibleArtifact, "the artifact does not parse: \(error)")
        }
    }
}

extension Op {
    package static let constantName = "primitive.constant_v1"
    package var isConstant: Bool { name == Self.constantName }
}

/// The constants of a segment's graph, in order.
package struct SegmentWeights: WeightSource {
    private let weights: [Weight]

    package init(_ graph: Graph) {
        weights = graph.ops.compactMap { op in
            guard op.isConstant, case .elements(let constant)? = op[attribute: "value"], let result = op.results.first
            else { return nil }
            return Weight(type: graph.tensorType(result), constant: constant)
        }
    }

    package func weight(_ index: Int) throws(BackendError) -> Weight {
        guard weights.indices.contains(index) else {
            throw BackendError(.invalidArgument, "weight \(index) of \(weights.count)")
        }
        return weights[index]
    }
}
