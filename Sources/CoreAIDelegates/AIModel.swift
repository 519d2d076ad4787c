import CoreAIBackend
import CoreAIAsset
import CoreAIGraph
import CoreAIPlanner
public import CoreAIRuntime
package import Foundation
import Synchronization

/// A handle on one specialized asset. Light: weights are mapped and scratch memory belongs to loaded functions.
public struct AIModel: Sendable {
    package let content: LoadedModel

    /// Opens and specializes an asset.
    /// - Parameters:
    ///   - url: an `.aimodel` directory; symbolic links are followed.
    ///   - ignoringHash: run a program whose bytes do not match the asset's `main.hash`. Also switched on by
    ///     `COREAI_IGNORE_HASH=1`.
    /// - Throws: `AssetError` for damage in the file, `CancellationError`, and an error with a readable description for
    ///   anything else.
    package init(
        contentsOf url: URL, options: SpecializationOptions, registry: BackendRegistry, ignoringHash: Bool = false
    ) async throws {
        try Task.checkCancellation()
        content = try await onOwnThread("coreai-specialize") { isCancelled in
            try LoadedModel(
                url, options: options, registry: registry, ignoringHash: ignoringHash, isCancelled: isCancelled)
        }
    }

    /// The names of the functions, in the order of the asset.
    public var functionNames: [String] { content.functions.map(\.descriptor.name) }

    /// What a function expects and gives, or nil if the model has no function of this name. Loads nothing.
    public func functionDescriptor(for functionName: String) -> InferenceFunctionDescriptor? {
        content.function(functionName)?.descriptor
    }

    /// Prepares a function to run: maps its weights and takes its memory. Every call gives a function of its own.
    /// - Returns: nil if the model has no function of this name.
    public func loadFunction(named functionName: String) throws -> InferenceFunction? {
        try content.load(functionName)
    }

    /// One token for this machine's architecture, the `<arch>` of `Name.<arch>.aimodelc`: `linux-x86_64-v3`.
    public static var deviceArchitectureName: String { DeviceArchitecture.name }
}

extension AIModel {
    /// How the model came to be loaded, and how long each part took.
    public var loadReport: LoadReport { content.report }

    /// Where each operation of a function runs, and why; nil if the model has no function of this name.
    public func placement(for functionName: String) -> PlacementReport? { content.placement(functionName) }

    /// The text form of a function's plan; nil if the model has no function of this name.
    package func planDescription(for functionName: String) -> String? {
        content.function(functionName)?.plan.description
    }
}

/// A specialized asset with the devices it runs on.
package final class LoadedModel: Sendable {
    package let functions: [SpecializedFunction]
    let report: LoadReport
    private let requested: ComputeUnitKind?
    private let units: [Planner.Unit]
    private let devices = Guarded<[String: any Device]>([:])

    init(
        _ url: URL, options: SpecializationOptions, registry: BackendRegistry, ignoringHash: Bool,
        isCancelled: @escaping @Sendable () -> Bool
    ) throws {
        var clock = PhaseClock()
        let override = ProcessInfo.processInfo.environment["COREAI_IGNORE_HASH"] == "1"
        let source = try ModelSource(url, ignoringHash: ignoringHash || override, clock: &clock)
        let units = registry.units(for: options)
        let library = source.library
        functions = try source.functions.map { graph in
            do {
                return try SpecializedFunction(
                    graph, descriptor: InferenceFunctionDescriptor(graph), library: library, units: units,
                    isCancelled: isCancelled, clock: &clock)
            } catch let error as GraphError {
                throw Self.describe(error, graph.name, source.url)
            } catch let error as PlanError {
                throw AIModelError(.failedToSpecialize, "\(source.url.path): function '\(graph.name)': \(error)")
            } catch let error as BackendError {
                if error.code == .cancelled { throw CancellationError() }
                throw AIModelError(.failedToSpecialize, "\(source.url.path): function '\(graph.name)': \(error)")
            }
        }
        self.units = units
        requested = options.preferredComputeUnitKind
        report = LoadReport(
            verdict: "miss", phases: clock.phases,
            notes: source.notes + (ProcessorKernels.complaint.map { [$0 + "; ignored"] } ?? []))
    }

    /// What a graph got wrong is damage in the file; what it needs and this runtime lacks is not.
    private static func describe(_ error: GraphError, _ function: String, _ url: URL) -> any Error {
        let message = "\(url.path): function '\(function)': \(error)"
        if error.isUnsupported { return AIModelError(.failedToSpecialize, message) }
        return AssetError(kind: .corruptedMetadata, debugMessage: message)
    }

    package func function(_ name: String) -> SpecializedFunction? {
        functions.first { $0.descriptor.name == name }
    }

    func load(_ name: String) throws -> InferenceFunction? {
        guard let function = function(name) else { return nil }
        do {
            return InferenceFunction(
                executor: try function.makeExecutor { [self] (names) throws(BackendError) in try openDevices(names) })
        } catch {
            throw AIModelError(.loadFailed, "function '\(name)': \(error)")
        }
    }

    private func openDevices(_ names: Set<String>) throws(BackendError) -> [String: any Device] {
        var opened = devices.withLock { $0 }
        for unit in units where names.contains(unit.backend.info.name) && opened[unit.backend.info.name] == nil {
            opened[unit.backend.info.name] = try unit.backend.devices().first { $0.target == unit.target }
        }
        let merged = opened
        devices.withLock { $0.merge(merged) { first, _ in first } }
        return merged
    }

    func placement(_ name: String) -> PlacementReport? {
        function(name).map { function in
            PlacementReport(
                function.plan, requested: requested,
                unitOf: Dictionary(
                    units.map { ($0.backend.info.name, $0.backend.info.unit) }, uniquingKeysWith: { first, _ in first })
            )
        }
    }
}
