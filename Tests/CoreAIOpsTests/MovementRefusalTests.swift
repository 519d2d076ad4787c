import CoreAIGraph
import CoreAIOps
import Testing

private func infer(_ op: Op, _ types: [TensorType], values: [[Dimension]?], declared: [TensorType]) throws
    -> [ValueType]
{
    let definition = try #require(OpTable[op.name])
    var context = InferenceContext(
        op: op, signature: definition.signature, operandTypes: types.map { .tensor($0) }, operandValues: values,
        declaredTypes: declared.map { .tensor($0) }, nextSymbol: 0)
    return try definition.inferTypes(&context)
}

/// A region of two scalar arguments that yields one of them.
private func region(yielding argument: Int) -> Graph {
    var graph = Graph(name: "region")
    let values = [0, 1].map { _ in graph.makeValue(.tensor(TensorType(.float32, []))) }
    graph.inputs = values.enumerated().map { Port("arg\($0)", $1) }
    graph.outputs = [Port("out", values[argument])]
    return graph
}

@Test func scatterTakesOnlyARegionThatReplaces() throws {
    let types = [TensorType(.float32, [3]), TensorType(.int32, [2, 1]), TensorType(.float32, [2])]
    for (argument, isAccepted) in [(0, false), (1, true)] {
        let op = Op("primitive.scatter_nd_v1", regions: [region(yielding: argument)])
        let result = try? infer(op, types, values: [nil, nil, nil], declared: [types[0]])
        #expect((result != nil) == isAccepted)
    }
}

@Test(arguments: [Constant.Packing.elements, .bits, .splat]) func constantsOfTheWrongSizeAreRefused(
    _ packing: Constant.Packing
) {
    let constant = Constant(Bytes(copying: [1, 2, 3]), packing: packing)
    let op = Op("primitive.constant_v1", attributes: [.init("value", .elements(constant))])
    for shape in [[2, 2], [Int.max, 4], [.max]] as [[Int]] {
        let type = TensorType(.uint4, shape.map { Dimension($0) })
        #expect(throws: GraphError.self) { try infer(op, [], values: [], declared: [type]) }
    }
}

@Test func updatesMustFitTheSliceTheyReplace() {
    let two = TensorType(.int32, [1])
    let types = [TensorType(.float32, [4]), two, two, two, TensorType(.float32, [3])]
    let op = Op("primitive.slice_update_v1")
    #expect(throws: GraphError.self) { try infer(op, types, values: [nil, [0], [2], [1], nil], declared: [types[0]]) }
}

@Test func axesThatDependOnDataAreRefused() throws {
    let types = [TensorType(.float32, [2, 3]), TensorType(.int32, [2])]
    let error = #expect(throws: GraphError.self) {
        try infer(Op("primitive.transpose_v1"), types, values: [nil, nil], declared: [types[0]])
    }
    #expect(error?.message.contains("permutation") ?? false)
}
