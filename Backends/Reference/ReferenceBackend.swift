package import CoreAIBackend
package import CoreAIGraph
import CoreAIOps

/// Runs the op table's own reference kernels: the oracle of the other backends and the last resort of every plan.
package struct ReferenceBackend: Backend {
    package let info = BackendInfo(name: "reference", version: "1", unit: .cpu)
    package let targets = [HostDevice.hostTarget]

    package init() {}

    package func propose(for graph: Graph, on target: Target) throws(BackendError) -> Proposal {
        // The reference kernels are about ten times slower than what a processor can do.
        Proposal.allOps(of: graph, slowness: 10)
    }

    package func pack(_ weight: Weight, _ packing: Packing, for target: Target, into sink: ByteSink)
        throws(BackendError)
    {
        throw BackendError(.unsupported, "the reference backend reads weights as stored, not as '\(packing.name)'")
    }

    package func compile(_ segment: Segment, for target: Target, _ monitor: Monitor) throws(BackendError) -> Artifact {
        HostArtifact.encode(segment)
    }

    package func devices() throws(BackendError) -> [any Device] {
        [HostDevice(target: HostDevice.hostTarget, lower: HostProgram.portable)]
    }
}
