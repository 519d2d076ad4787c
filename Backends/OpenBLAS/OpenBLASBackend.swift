package import CoreAIBackend
package import CoreAIGraph
import CoreAIOps
import COpenBLAS

/// The processor: segments lowered to fused calls of SIMD kernels over the worker pool; OpenBLAS for products of types they do
/// not take and for convolutions by weights that are no constants.
package struct OpenBLASBackend: Backend {
    package let info = BackendInfo(name: "openblas", version: "2", unit: .cpu)
    package let targets = [HostDevice.hostTarget]

    /// Kernels for single ops that the lowering leaves alone; an op goes to the first claim that names and accepts it.
    static let claims = [
        matrixProductClaim, convolutionClaim, depthwiseClaim, transposedConvolutionClaim,
    ]

    package init() {}

    package func propose(for graph: Graph, on target: Target) throws(BackendError) -> Proposal {
        Proposal.allOps(of: graph)
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
