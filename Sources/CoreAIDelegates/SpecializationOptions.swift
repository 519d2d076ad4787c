public import CoreAIBackend

/// How a model is specialized for this machine. Different options make different specializations.
public struct SpecializationOptions: Hashable, Sendable {
    /// The fastest mix of what is available.
    public static let `default` = SpecializationOptions(allowed: [.cpu, .gpu, .neuralEngine], preferred: nil)
    /// The processor alone; every operation has an implementation there.
    public static let cpuOnly = SpecializationOptions(allowed: [.cpu], preferred: nil)

    /// The kinds of unit that may be used, as far as they are available.
    public let allowedComputeUnitKinds: Set<ComputeUnitKind>
    /// The kind that is asked first, if one is.
    public let preferredComputeUnitKind: ComputeUnitKind?
    /// A hint that input sizes will change often. It never changes results.
    public var expectFrequentReshapes = false

    /// Prefers one kind of unit; an operation that it cannot take goes to another.
    public init(preferredComputeUnitKind: ComputeUnitKind) {
        self.init(allowed: [.cpu, .gpu, .neuralEngine], preferred: preferredComputeUnitKind)
    }

    private init(allowed: Set<ComputeUnitKind>, preferred: ComputeUnitKind?) {
        allowedComputeUnitKinds = allowed
        preferredComputeUnitKind = preferred
    }
}
