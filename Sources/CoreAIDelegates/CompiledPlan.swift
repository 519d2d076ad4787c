import CoreAIBackend
import CoreAIGraph
import CoreAIPlanner
import CoreAIRuntime

/// A plan with the artifacts of its segments, and the same of its regions' plans.
struct CompiledPlan: Sendable {
    private let plan: Plan
    private let artifacts: [Artifact]
    private let weights: [SegmentWeights]
    private let regions: [OpID: [CompiledPlan]]

    /// - Parameter unitOf: the unit to compile for, by backend name.
    init(_ plan: Plan, _ unitOf: [String: Planner.Unit], _ monitor: Monitor) throws(BackendError) {
        self.plan = plan
        var artifacts: [Artifact] = []
        for segment in plan.segments {
            guard let unit = unitOf[segment.backend] else {
                throw BackendError(.failed, "the plan names the unknown backend '\(segment.backend)'")
            }
            try monitor.report(Double(artifacts.count) / Double(plan.segments.count))
            artifacts.append(try unit.backend.compile(segment, for: unit.target, monitor))
        }
        self.artifacts = artifacts
        weights = plan.segments.map { SegmentWeights($0.graph) }
        var regions: [OpID: [CompiledPlan]] = [:]
        for (op, plans) in plan.subplans {
            for region in plans { regions[op, default: []].append(try CompiledPlan(region, unitOf, monitor)) }
        }
        self.regions = regions
    }

    /// - Parameter devices: by backend name.
    func load(on devices: [String: any Device], descriptor: InferenceFunctionDescriptor) throws(BackendError) -> Executor {
        var executables: [any Executable] = []
        var deviceOfSegment: [any Device] = []
        for (index, segment) in plan.segments.enumerated() {
            guard let device = devices[segment.backend] else {
                throw BackendError(.deviceLost, "no device of backend '\(segment.backend)' is available")
            }
            executables.append(try device.load(artifacts[index], nil, weights: weights[index]))
            deviceOfSegment.append(device)
        }
        var executors: [OpID: [Executor]] = [:]
        for (op, plans) in regions {
            for region in plans { executors[op, default: []].append(try region.load(on: devices, descriptor: descriptor)) }
        }
        return try Executor(
            plan, descriptor: descriptor, executables: executables, devices: deviceOfSegment, regions: executors)
    }
}
