import CoreAIBackend
import CoreAIGraph
import CoreAIOps

/// Walks the graph once in order: infers every type and, of small integer tensors, every value; turns steering operands
/// with known values into attributes; replaces ops whose results are known by constants; drops ops that change nothing.
func resolve(_ canonical: inout CanonicalGraph) throws(GraphError) {
    var resolver = Resolver(source: canonical.graph)
    try resolver.run()
    canonical.graph = resolver.result
    canonical.constraints = resolver.constraints
    canonical.symbolBounds = resolver.symbolBounds
    canonical.inputSymbolCount = resolver.inputSymbolCount
}

private struct Resolver {
    let source: Graph
    var result: Graph
    var constraints: [SizeConstraint] = []
    var symbolBounds: [Int: Dimension] = [:]
    var inputSymbolCount = 0

    private var map: [ValueID?]
    /// What is known of the new graph's values.
    private var known: [ValueID: [Dimension]] = [:]
    private var constants: [ValueID: Constant] = [:]

    init(source: Graph) {
        self.source = source
        result = source
        result.values = []
        result.ops = []
        map = Array(repeating: nil, count: source.values.count)
    }

    mutating func run() throws(GraphError) {
        result.inputs = []
        result.states = []
        for port in source.inputs.dropLast(source.captures.count) { try addInput(port) }
        for state in source.states {
            result.states.append(
                StatePort(state.name, input: try addArgument(state.name, state.input), output: state.output))
        }
        inputSymbolCount = result.symbolCount
        try addOps()
        for index in result.states.indices {
            guard let value = map[result.states[index].output.index] else {
                throw GraphError("state '\(result.states[index].name)' is never defined")
            }
            try check(result.states[index], value)
            result.states[index].output = value
        }
    }

    /// What a state is left with must fit where it came from.
    private func check(_ state: StatePort, _ output: ValueID) throws(GraphError) {
        let (before, after) = (result.tensorType(state.input), result.tensorType(output))
        guard before.scalar == after.scalar, before.rank == after.rank else {
            throw GraphError("state '\(state.name)' of type \(before) is written with \(after)")
        }
        for (old, new) in zip(before.shape, after.shape) {
            if let x = old.constant, let y = new.constant, x != y {
                throw GraphError("state '\(state.name)' of type \(before) is written with \(after)")
            }
        }
    }

    private mutating func addInput(_ port: Port) throws(GraphError) {
        result.inputs.append(Port(port.name, try addArgument(port.name, port.value)))
    }

    private mutating func addArgument(_ name: String, _ old: ValueID) throws(GraphError) -> ValueID {
        guard case .tensor(var type) = source[old].type else {
            throw GraphError(Self.refusal(of: source[old].type, name), isUnsupported: true)
        }
        for axis in type.shape.indices where type.shape[axis].isUnknown {
            type.shape[axis] = .symbol(result.symbolCount)
            result.symbolCount += 1
        }
        let value = result.makeValue(.tensor(type))
        map[old.index] = value
        return value
    }

    private mutating func addOps() throws(GraphError) {
        for op in source.ops { try add(op) }
        result.outputs = []
        for port in source.outputs {
            guard let value = map[port.value.index] else {
                throw GraphError("output '\(port.name)' is never defined")
            }
            result.outputs.append(Port(port.name, value))
        }
    }

    private static func refusal(of type: ValueType, _ name: String) -> String {
        switch type {
        case .handle(let inner): "state '\(name)' of type \(inner) is not supported by this runtime"
        case .image: "input '\(name)': image inputs are not supported by this runtime yet"
        default: "input '\(name)' of type \(type) is not supported"
        }
    }

    private mutating func add(_ op: Op) throws(GraphError) {
        guard let definition = OpTable[op.name] else { throw Self.unknown(op) }
        var copy = op
        copy.operands = try operands(of: op)
        copy.regions = []
        if OpTable.isControl(op.name) {
            for region in op.regions { copy.regions.append(try resolved(region, of: op)) }
            try checkRegions(of: op, copy)
        }
        var context = InferenceContext(
            op: copy, signature: definition.signature, operandTypes: copy.operands.map { result[$0].type },
            operandValues: copy.operands.map { known[$0] }, declaredTypes: op.results.map { source[$0].type },
            nextSymbol: result.symbolCount)
        try definition.signature.check(copy, context.operandTypes, regions: op.regions)
        let small = smallConstants(copy.operands)
        context.operandTensors = small.map { $0?.tensor }
        let types = try withExtendedLifetime(small) { () throws(GraphError) in try definition.inferTypes(&context) }
        try check(types, of: op)
        result.symbolCount += context.freshSymbols.count
        symbolBounds.merge(context.symbolBounds) { first, _ in first }
        for constraint in context.constraints
        where !constraints.contains(where: { $0.left == constraint.left && $0.right == constraint.right }) {
            constraints.append(constraint)
        }
        if !context.symbolBounds.isEmpty { copy[attribute: sizedByOpAttribute] = .unit }

        if copy.regions.isEmpty, let alias = identity(copy, definition, types, context) {
            map[op.results[0].index] = alias
            return
        }
        steer(&copy, definition.signature, context)
        if try replaceByValues(op, copy, types, context.resultValues) { return }
        if fold(op, copy, definition, types, isDynamic: !context.freshSymbols.isEmpty) { return }

        copy.results = types.map { result.makeValue($0) }
        for (index, (old, new)) in zip(op.results, copy.results).enumerated() {
            map[old.index] = new
            if let values = context.resultValues[index] { known[new] = values }
        }
        if copy.isConstant, case .elements(let constant)? = copy[attribute: "value"] {
            constants[copy.results[0]] = constant
        }
        result.ops.append(copy)
    }

    /// Constant operands few of whose elements may decide a size (the bounds of a range).
    private func smallConstants(_ operands: [ValueID]) -> [OwnedHostTensor?] {
        operands.map { operand in
            guard let constant = constants[operand], let type = result[operand].type.tensor,
                let count = type.elementCount.constant, count <= knownValueLimit
            else { return nil }
            return OwnedHostTensor(type, constant)
        }
    }

    // MARK: Regions

    /// A region resolved inside this graph: its symbols are numbered on from ours, captured constants become its own, and
    /// what is known of other captures stays known.
    private mutating func resolved(_ region: Graph, of op: Op) throws(GraphError) -> Graph {
        var inner = Resolver(source: region)
        inner.result.symbolCount = result.symbolCount
        inner.result.inputs = []
        inner.result.captures = []
        for port in region.inputs.dropLast(region.captures.count) { try inner.addInput(port) }
        for (port, capture) in zip(region.inputs.suffix(region.captures.count), region.captures) {
            guard capture.index < map.count, let outer = map[capture.index] else {
                throw GraphError("\(capture) is used before it is defined", op: op)
            }
            if let constant = constants[outer] {
                inner.define(port.value, result[outer].type, constant, op.location, known[outer])
                continue
            }
            let value = inner.result.makeValue(result[outer].type)
            inner.map[port.value.index] = value
            inner.known[value] = known[outer]
            inner.result.inputs.append(Port(port.name, value))
            inner.result.captures.append(outer)
        }
        try inner.addOps()
        result.symbolCount = inner.result.symbolCount
        constraints += inner.constraints
        symbolBounds.merge(inner.symbolBounds) { first, _ in first }
        return dropDeadOps(inner.result)
    }

    private func operands(of op: Op) throws(GraphError) -> [ValueID] {
        var operands: [ValueID] = []
        for operand in op.operands {
            guard operand.index < map.count, let value = map[operand.index] else {
                throw GraphError("\(operand) is used before it is defined", op: op)
            }
            operands.append(value)
        }
        return operands
    }

    /// The values handed into and out of regions must be as many as the op's own.
    private func checkRegions(of op: Op, _ copy: Op) throws(GraphError) {
        guard copy.regions.count == 2 else {
            throw GraphError("has \(copy.regions.count) regions, 2 are expected", op: op)
        }
        func count(_ region: Graph) -> Int { region.inputs.count - region.captures.count }
        let (first, second) = (copy.regions[0], copy.regions[1])
        let isLoop = op.name.hasPrefix("controlflow.while")
        let isRight =
            isLoop
            ? count(first) == op.operands.count && first.outputs.count == 1 + op.results.count
                && count(second) == op.results.count && second.outputs.count == op.operands.count
            : [first, second].allSatisfy { count($0) == 0 && $0.outputs.count == op.results.count }
        guard isRight else { throw GraphError("its regions take or give another number of values than the op", op: op) }
        if isLoop {
            guard first.tensorType(first.outputs[0].value).scalar == .bool,
                first.tensorType(first.outputs[0].value).elementCount == 1
            else { throw GraphError("the condition of the loop must be one boolean", op: op) }
        }
        // Declared types are what the regions give, as far as they say.
        for region in isLoop ? [first] : [first, second] {
            for (port, result) in zip(region.outputs.dropFirst(isLoop ? 1 : 0), op.results) {
                guard region.tensorType(port.value).scalar == source[result].type.tensor?.scalar,
                    region.tensorType(port.value).rank == source[result].type.tensor?.rank
                else {
                    throw GraphError(
                        "declares \(source[result].type) where a region gives \(region.tensorType(port.value))", op: op)
                }
            }
        }
    }

    private static func unknown(_ op: Op) -> GraphError {
        let lack = waitingFamilies.first { family in family.prefixes.contains { op.name.hasPrefix($0) } }
        guard let lack else { return GraphError("unknown operation", op: op) }
        return GraphError("\(lack.what) not supported by this runtime yet", op: op, isUnsupported: true)
    }

    /// Families of the dialect that the op table does not hold yet, by how their stored names begin.
    private static let waitingFamilies: [(prefixes: [String], what: String)] = [
        (["primitive.lut_to_sparse", "primitive.sparse_with_bitmask_blockwise"], "tables over sparse weights are"),
        (["primitive.reduce_v", "primitive.reduce_index_v"], "reductions spelled out as a region are"),
        (["metal."], "Metal kernels are"),
        (["execution."], "parts compiled for Apple's units are"),
    ]

    private func check(_ types: [ValueType], of op: Op) throws(GraphError) {
        guard types.count == op.results.count else {
            throw GraphError("has \(op.results.count) results where \(types.count) are expected", op: op)
        }
        for (type, value) in zip(types, op.results) {
            guard let declared = source[value].type.tensor, let inferred = type.tensor else { continue }
            guard declared.scalar == inferred.scalar else {
                throw GraphError("declares \(declared.scalar.name) where \(inferred.scalar.name) results", op: op)
            }
            let contradicts = zip(declared.shape, inferred.shape).contains { size, other in
                size.constant.flatMap { number in other.constant.map { $0 != number } } ?? false
            }
            guard declared.rank == inferred.rank, !contradicts else {
                throw GraphError("declares \(declared) where \(inferred) results", op: op)
            }
        }
    }

    // MARK: Simplification

    /// The operand that the result equals, if the op changes nothing.
    private func identity(
        _ op: Op, _ definition: OpDefinition, _ types: [ValueType], _ context: InferenceContext
    ) -> ValueID? {
        guard types.count == 1, let first = op.operands.first, context.freshSymbols.isEmpty,
            let from = result[first].type.tensor, let to = types[0].tensor, from.scalar == to.scalar,
            from.shape == to.shape
        else { return nil }
        if case .view = definition.form { return first }
        return Self.changesNothingAtEqualTypes.contains(op.plainName) ? first : nil
    }

    private static let changesNothingAtEqualTypes: Set<String> = [
        "cast", "broadcast_to", "broadcast_in_dims", "tile", "copy_with_constraints", "copy_discarding_constraints",
    ]

    private func steer(_ op: inout Op, _ signature: Signature, _ context: InferenceContext) {
        for operand in signature.operands where operand.role == .steering && op[attribute: operand.name] == nil {
            guard let index = signature.index(of: operand.name, in: op), index < op.operands.count,
                let values = known[op.operands[index]], !values.contains(where: \.isUnknown)
            else { continue }
            op.operands.remove(at: index)
            op[attribute: operand.name] = .dimensions(values)
        }
    }

    /// Puts constants (or expressions over symbols) in place of an op all of whose results are known.
    private mutating func replaceByValues(
        _ old: Op, _ op: Op, _ types: [ValueType], _ values: [[Dimension]?]
    ) throws(GraphError) -> Bool {
        let isKnown = values.allSatisfy { $0?.contains(where: \.isUnknown) == false }
        guard !op.isConstant, !values.isEmpty, isKnown else { return false }
        for (index, type) in types.enumerated() {
            guard let tensor = type.tensor, tensor.staticShape != nil, let elements = values[index] else {
                return false
            }
            let numbers = elements.compactMap(\.constant)
            if numbers.count == elements.count, let constant = Constant(numbers, tensor.scalar) {
                define(old.results[index], type, constant, op.location, elements)
            } else {
                let value = result.append(
                    "core.sizes_v1", [], [NamedAttribute("values", .dimensions(elements))], results: [type],
                    location: op.location)[0]
                map[old.results[index].index] = value
                known[value] = elements
            }
        }
        return true
    }

    private mutating func define(
        _ old: ValueID, _ type: ValueType, _ constant: Constant, _ location: SourceLocation?, _ elements: [Dimension]?
    ) {
        let value = result.append(
            Op.constantName, [], [NamedAttribute("value", .elements(constant))], results: [type], location: location)[0]
        map[old.index] = value
        constants[value] = constant
        known[value] = elements ?? constant.integers(type.tensor)
    }

    /// Computes an op all of whose operands are constants, unless that would make much more of few bytes.
    private mutating func fold(
        _ old: Op, _ op: Op, _ definition: OpDefinition, _ types: [ValueType], isDynamic: Bool
    ) -> Bool {
        guard !op.isConstant, !isDynamic, !op.operands.isEmpty || op.name == "primitive.range_v1" else { return false }
        var operandBytes = 0
        var operands: [(TensorType, Constant)] = []
        for operand in op.operands {
            guard let constant = constants[operand], let type = result[operand].type.tensor else { return false }
            operandBytes += constant.bytes.count
            operands.append((type, constant))
        }
        guard op.attributes.allSatisfy({ $0.value.isConcrete }) else { return false }
        var resultBytes = 0
        for type in types {
            guard let tensor = type.tensor, let shape = tensor.staticShape,
                let bytes = tensor.scalar.byteCount(shape)
            else { return false }
            resultBytes += bytes
        }
        // A compressed weight may grow; anything else that does is cheaper made again than kept.
        var isWeight = false
        if case .weight = definition.form { isWeight = true }
        guard isWeight || resultBytes <= max(1 << 16, 2 * operandBytes) else { return false }
        guard let folded = evaluate(op, definition, operands, types.compactMap(\.tensor)) else { return false }
        for (index, constant) in folded.enumerated() {
            define(old.results[index], types[index], constant, op.location, nil)
        }
        return true
    }
}

extension Attribute {
    /// False for expressions over symbols.
    fileprivate var isConcrete: Bool {
        if case .dimensions(let values) = self { values.allSatisfy { $0.constant != nil } } else { true }
    }
}
