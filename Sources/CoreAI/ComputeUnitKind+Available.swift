public import enum CoreAIBackend.ComputeUnitKind
import CoreAIDelegates

extension ComputeUnitKind {
    /// The kinds of unit that can execute on this machine; `cpu` is always among them.
    public static var availableKinds: Set<ComputeUnitKind> { BackendRegistry.builtin.availableKinds }
}
