package import CoreAIBackend
import CoreAIPlanner

/// The backends a model may use, in order of preference; the last takes every op.
package struct BackendRegistry: Sendable {
    package var backends: [any Backend]

    package init(_ backends: [any Backend]) { self.backends = backends }

    /// The kinds of unit that can really execute.
    package var availableKinds: Set<ComputeUnitKind> {
        Set(backends.filter { (try? $0.devices())?.isEmpty == false }.map(\.info.unit))
    }

    /// Units for a planner: the preferred kind first, then the others in the registry's order.
    func units(for options: SpecializationOptions) -> [Planner.Unit] {
        let allowed = backends.filter { options.allowedComputeUnitKinds.contains($0.info.unit) && !$0.targets.isEmpty }
        let preferred = allowed.filter { $0.info.unit == options.preferredComputeUnitKind }
        let others = allowed.filter { $0.info.unit != options.preferredComputeUnitKind }
        return (preferred + others).map { Planner.Unit($0, target: $0.targets[0]) }
    }
}
