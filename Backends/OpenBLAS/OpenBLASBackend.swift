package import CoreAIBackend
package import CoreAIGraph
import CoreAIOps
import COpenBLAS

/// The processor: matrix products and convolutions through OpenBLAS, pointwise operations over the worker pool.
package struct OpenBLASBackend: Backend {
    package let info = BackendInfo(name: "openblas", version: "1", unit: .cpu)
    package let targets = [HostDevice.hostTarget]

    /// Kernels for single ops that the lowering leaves alone; an op goes to the first claim that names it.
    static let claims = [
        matrixProductClaim, convolutionClaim, depthwiseClaim, transposedConvolutionClaim,
    ]

    package init() {}

    package func propose(for graph: Graph, on target: Target) throws(BackendError) -> Proposal {
        var proposal = Proposal()
        for (index, op) in graph.ops.enumerated() where !op.isConstant {
            guard let definition = OpTable[op.name] else {
                proposal.rejections[OpID(index)] = "the op table has no such op"
                continue
            }
            if case .control = definition.form {
                proposal.rejections[OpID(index)] = "control flow is run by the executor"
                continue
            }
            let operands = op.operands.compactMap { graph[$0].type.tensor }
            let results = op.results.compactMap { graph[$0].type.tensor }
            let cost = Cost(nanoseconds: Cost.estimate(of: op, operands, results))
            proposal.groups.append(Proposal.Group(ops: [OpID(index)], cost: cost))
        }
        return proposal
    }

    package func pack(_ weight: Weight, _ packing: Packing, for target: Target, into sink: ByteSink)
        throws(BackendError)
    {
        throw BackendError(.unsupported, "the openblas backend reads weights as stored, not as '\(packing.name)'")
    }

    package func compile(_ segment: Segment, for target: Target, _ monitor: Monitor) throws(BackendError) -> Artifact {
        HostArtifact.encode(segment)
    }

    package func devices() throws(BackendError) -> [any Device] {
        // Work is split by our own pool; OpenBLAS's threads would compete with it.
        openblas_set_num_threads(1)
        return [HostDevice(target: HostDevice.hostTarget, lower: lower)]
    }
}
