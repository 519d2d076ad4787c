package import CoreAIBackend
package import CoreAIGraph
import CoreAIOps
import COpenBLAS

/// The processor: matrix products and convolutions through OpenBLAS, pointwise operations over the worker pool.
package struct OpenBLASBackend: Backend {
    package let info = BackendInfo(name: "openblas", version: "1", unit: .cpu)
    package let targets = [HostDevice.hostTarget]

    /// Everything this backend has a kernel for; an op goes to the first claim that names it.
    static let claims = [matrixProductClaim, convolutionClaim, pointwiseClaim]

    package init() {}

    package func propose(for graph: Graph, on target: Target) throws(BackendError) -> Proposal {
        Proposal.matching(Self.claims, in: graph, backend: info.name)
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
        return [
            HostDevice(target: HostDevice.hostTarget) { op, operands, results, constants in
                Self.claims.first { $0.names.contains(op.name) && $0.accepts(op, operands, results) == nil }?
                    .makeKernel(constants)
            }
        ]
    }
}
