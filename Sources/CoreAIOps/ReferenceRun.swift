package import CoreAIGraph

/// A tensor together with the memory that holds it.
package struct OwnedTensor: Sendable {
    package let tensor: HostTensor
    private let owner: Allocation

    /// A zeroed tensor.
    package init(_ scalar: ScalarType, _ shape: [Int]) {
        owner = Allocation(byteCount: shape.reduce(1, *) * scalar.byteStride)
        tensor = HostTensor(scalar, shape, owner.base)
    }

    private init(_ tensor: HostTensor, sharing owner: Allocation) {
        self.tensor = tensor
        self.owner = owner
    }

    /// The elements at the start of the same memory, seen with another shape that needs no more of them.
    package func prefix(_ shape: [Int]) -> OwnedTensor {
        precondition(shape.reduce(1, *) <= tensor.count)
        return OwnedTensor(HostTensor(tensor.scalar, shape, tensor.base), sharing: owner)
    }
}

/// Runs one op with its reference kernel: infers the result types from the concrete operands, allocates, computes.
///
/// Results are alive as long as the returned tensors are. Use `withExtendedLifetime` around raw access.
/// - Parameter declared: the result types the asset would declare. Only `cast` and its like need them: without, every
///   result is declared with the scalar type of the first operand.
/// - Throws: `GraphError` when inference refuses, `KernelError` when the data do not allow a result.
package func runReference(_ op: Op, operands: [HostTensor], declared: [ValueType]? = nil) throws -> [OwnedTensor] {
    guard let definition = OpTable[op.name] else { throw GraphError("no definition", op: op) }
    return try runReference(op, definition: definition, operands: operands, declared: declared)
}

/// The same for a definition that need not be in the table.
package func runReference(
    _ op: Op, definition: OpDefinition, operands: [HostTensor], declared: [ValueType]? = nil
) throws -> [OwnedTensor] {
    let signature = definition.signature
    let resultCount = max(op.results.count, declared?.count ?? 0, signature.results.count)
    let fallback = operands.first.map { ValueType.tensor(TensorType($0.scalar, [.unknown])) } ?? .token
    var context = InferenceContext(
        op: op, signature: signature,
        operandTypes: operands.map { .tensor(TensorType($0.scalar, $0.shape.map { Dimension($0) })) },
        operandValues: operands.map(knownValues),
        declaredTypes: declared ?? Array(repeating: fallback, count: resultCount),
        nextSymbol: 0)
    let types = try definition.inferTypes(&context)

    // A size that only the data can tell is at most the number of elements there are.
    let bound = operands.reduce(1) { $0 + $1.count }
    var results: [OwnedTensor] = []
    for type in types {
        guard let tensor = type.tensor else { throw GraphError("result \(type) is not a dense tensor", op: op) }
        var shape: [Int] = []
        for dimension in tensor.shape {
            guard let size = dimension.evaluated({ _ in bound }) else {
                throw GraphError("result \(tensor) has a size that cannot be told", op: op)
            }
            shape.append(size)
        }
        results.append(OwnedTensor(tensor.scalar, shape))
    }

    var kernel = KernelContext(op: op, signature: signature, operands: operands, results: results.map(\.tensor))
    try definition.reference(&kernel)
    for (index, shape) in kernel.actualShapes.enumerated() {
        if let shape { results[index] = results[index].prefix(shape) }
    }
    return results
}

/// The contents of an integer or boolean tensor in the form inference knows them; nil for anything larger than a vector of
/// sizes, and for unsigned numbers beyond `Int`.
private func knownValues(_ tensor: HostTensor) -> [Dimension]? {
    guard tensor.scalar == .bool || tensor.scalar.isInteger, tensor.scalar.bitWidth <= 64, tensor.count <= 1024 else {
        return nil
    }
    let integers = tensor.integers
    if tensor.scalar == .uint64, integers.contains(where: { $0 < 0 }) { return nil }
    return integers.map { Dimension($0) }
}
