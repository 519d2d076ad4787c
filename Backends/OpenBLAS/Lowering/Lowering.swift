import CoreAIBackend
import CoreAIGraph
import CoreAIOps
import Foundation

/// A segment's graph as a program of kernel calls: passes over the graph first, then the choice of kernels, from the last op to
/// the first so that what follows an op can join it.
///
/// With `COREAI_CPU_FUSION=0` every op is computed by itself, as it stands.
@Sendable func lower(_ graph: Graph, _ constants: HostConstants) throws(BackendError) -> HostProgram {
    guard Fusion.isOn else {
        var program = HostProgram(graph, constants)
        for op in graph.ops { try program.appendSingle(op) }
        return program
    }
    var rewriter = GraphRewriter(graph, constants)
    try raiseConcats(&rewriter)
    try raiseSlices(&rewriter)
    try cancelPadding(&rewriter)
    try simplifyTransposes(&rewriter)
    try foldPadding(&rewriter)
    try raiseNormalizations(&rewriter)
    try raiseInterpolation(&rewriter)
    try storeChannelsLast(&rewriter)
    try simplifyTransposes(&rewriter)
    var selection = Selection(rewriter)
    try selection.choose()
    let program = try selection.program()
    try selection.packing.finish()
    return program
}

enum Fusion {
    static let isOn = ProcessInfo.processInfo.environment["COREAI_CPU_FUSION"] != "0"
}

extension HostProgram {
    /// One op of the table by the best kernel that takes it alone.
    mutating func appendSingle(_ op: Op) throws(BackendError) {
        if op.isView { return appendView(op) }
        if let step = MovementSteps.make(op, graph) ?? RowSteps.make(op, graph) ?? ScalarStep.make(op, graph) {
            steps.append(step)
            return
        }
        var operandConstants: [HostTensor?] = []
        for operand in op.operands {
            operandConstants.append(
                try constants.withTensor(operand) { (tensor) throws(BackendError) in tensor } ?? nil)
        }
        let types = op.operands.compactMap { graph[$0].type.tensor }
        let results = op.results.compactMap { graph[$0].type.tensor }
        let claim = OpenBLASBackend.claims.first { $0.names.contains(op.name) && $0.accepts(op, types, results) == nil }
        try appendPortable(op, kernel: claim?.makeKernel(operandConstants))
    }
}
