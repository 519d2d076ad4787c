import CoreAIBackend
import CoreAIGraph
import CoreAIOps

/// Which memory each value of a plan lives in, and for how long.
struct MemoryPlan: Sendable {
    /// Values that pass from segment to segment, with the steps during which they hold something.
    var arenaValues: [(value: ValueID, lifetime: ClosedRange<Int>)] = []
    /// Values that segments write straight to an output.
    var outputOf: [ValueID: Int] = [:]
    /// The same in order of the values, with the number of the output first.
    var directOutputs: [(index: Int, value: ValueID)] = []
    /// States that a segment updates in the caller's memory.
    var updatedStates: [Segment.State] = []
    /// Outputs that are copied when everything has run.
    var copiedOutputs: [(index: Int, value: ValueID)] = []
    /// Constants that are outputs, or that sizes are resolved from.
    var constants: [(value: ValueID, buffer: HostBuffer)] = []

    init(_ plan: Plan) throws(BackendError) {
        var firstStep: [ValueID: Int] = [:]
        var lastStep: [ValueID: Int] = [:]
        var sizedByOp: Set<ValueID> = []
        let finals = plan.graph.states.map(\.output)
        var read: Set<ValueID> = Set(plan.graph.outputs.map(\.value)).union(finals)
        for (index, step) in plan.steps.enumerated() {
            switch step {
            case .run(let segment), .runAndBindSizes(let segment):
                let segment = plan.segments[segment]
                segment.outputs.forEach { firstStep[$0] = index }
                segment.bindings.forEach { lastStep[$0] = index }
                updatedStates += segment.states
                if case .runAndBindSizes = step { sizedByOp.formUnion(segment.outputs) }
            case .control(let op):
                let used = plan.graph[op].operands + plan.graph[op].regions.flatMap(\.captures)
                used.forEach { lastStep[$0] = index }
                read.formUnion(used)
            case .resolveSizes(let op):
                plan.graph[op].operands.forEach { lastStep[$0] = index }
                read.formUnion(plan.graph[op].operands)
            }
        }
        for value in finals { lastStep[value] = plan.steps.count }
        for (index, port) in plan.graph.outputs.enumerated() {
            if firstStep[port.value] != nil, outputOf[port.value] == nil {
                outputOf[port.value] = index
            } else {
                copiedOutputs.append((index, port.value))
            }
        }
        directOutputs = outputOf.sorted { $0.key < $1.key }.map { ($0.value, $0.key) }
        for value in firstStep.keys.sorted() where outputOf[value] == nil && !sizedByOp.contains(value) {
            let first = firstStep[value] ?? 0
            arenaValues.append((value, first...max(first, lastStep[value] ?? first)))
        }
        for op in plan.graph.ops where op.isConstant && op.results.contains(where: read.contains) {
            for result in op.results { constants.append((result, try Self.expand(op, plan.graph.tensorType(result)))) }
        }
    }

    private static func expand(_ op: Op, _ type: TensorType) throws(BackendError) -> HostBuffer {
        guard let definition = OpTable[op.name], let shape = type.staticShape, let count = type.scalar.byteCount(shape)
        else {
            throw BackendError(.invalidArgument, "a constant of type \(type)")
        }
        let buffer = try HostBuffer(byteCount: count)
        guard let base = buffer.hostBytes?.baseAddress else { return buffer }
        var context = KernelContext(
            op: op, signature: definition.signature, operands: [], results: [HostTensor(type.scalar, shape, base)])
        do {
            try definition.reference(&context)
        } catch {
            throw BackendError(.failed, GraphError(error.message, op: op).description)
        }
        return buffer
    }
}
