import CoreAIGraph

/// Ops whose regions the executor runs. Their result types are what the asset declares; sizes it leaves open are those the
/// chosen region, or the last turn of the loop, gives.
let controlDefinitions = [
    OpDefinition(
        "controlflow.if_v1",
        summary: "Runs the first region if the condition holds, else the second; the results are what it yields.",
        signature: Signature([.data("condition", [.bool])], hasVariadicResults: true, regionCount: 2), form: .control,
        inferTypes: declaredTypes, reference: runByExecutor),
    OpDefinition(
        "controlflow.while_v1",
        summary: "Runs the second region as long as the first says so; the results are what the first hands on at the end.",
        signature: Signature([.variadic("inits")], hasVariadicResults: true, regionCount: 2), form: .control,
        inferTypes: declaredTypes, reference: runByExecutor),
]

@Sendable private func declaredTypes(_ context: inout InferenceContext) throws(GraphError) -> [ValueType] {
    guard context.op.regions.count == 2 else {
        throw context.error("has \(context.op.regions.count) regions, 2 are expected")
    }
    var types: [ValueType] = []
    for (index, type) in context.declaredTypes.enumerated() {
        guard case .tensor(let tensor) = type else { throw context.error("result \(index) is \(type), a tensor is expected") }
        var shape: [Dimension] = []
        for size in tensor.shape { shape.append(size.isUnknown ? context.freshSymbol() : size) }
        types.append(.tensor(TensorType(tensor.scalar, shape)))
    }
    return types
}

@Sendable private func runByExecutor(_ context: inout KernelContext) throws(KernelError) {
    throw KernelError("control flow is run by the executor, not by a kernel")
}
