package import CoreAIGraph

extension Signature {
    /// Checks an op's operands and results against the signature.
    /// - Parameter regions: those of the stored op; a composite's decomposition is accepted on any op.
    package func check(_ op: Op, _ operandTypes: [ValueType], regions: [Graph]) throws(GraphError) {
        let present = operands.filter { $0.role == .data || op[attribute: $0.name] == nil }
        let isVariadic = present.last?.isVariadic ?? false
        let required = isVariadic ? present.count - 1 : present.count
        guard isVariadic ? op.operands.count >= required : op.operands.count == required else {
            throw GraphError(
                "takes \(isVariadic ? "at least " : "")\(required) operands, has \(op.operands.count)", op: op)
        }
        for (index, type) in operandTypes.enumerated() {
            guard let operand = index < present.count ? present[index] : present.last else { continue }
            guard let tensor = type.tensor else {
                if case .image = type { continue }
                throw GraphError("operand '\(operand.name)' is \(type), a tensor is expected", op: op)
            }
            guard operand.scalars.isEmpty || operand.scalars.contains(tensor.scalar) else {
                let names = ScalarType.allCases.filter(operand.scalars.contains).map(\.name).joined(separator: ", ")
                throw GraphError("operand '\(operand.name)' is \(tensor.scalar.name); it takes \(names)", op: op)
            }
        }
        for name in attributes where op[attribute: name] == nil {
            throw GraphError("attribute '\(name)' is missing", op: op)
        }
        guard hasVariadicResults || op.results.count == results.count else {
            throw GraphError("has \(op.results.count) results, \(results.count) are expected", op: op)
        }
    }
}
