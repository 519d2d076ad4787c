import CoreAIBackend
import CoreAIGraph
import CoreAIOps

/// A segment's graph under change. Passes replace ops and values; `finish` drops what nobody uses any more.
///
/// Ops of this backend's own (`cpu.conv2d`) stand beside those of the op table; the types of their results are written by the
/// pass that makes them.
struct GraphRewriter {
    var graph: Graph
    let constants: HostConstants
    /// What a value has been replaced by.
    private var replacements: [ValueID: ValueID] = [:]

    init(_ graph: Graph, _ constants: HostConstants) {
        self.graph = graph
        self.constants = constants
    }

    func type(_ value: ValueID) -> TensorType { graph.tensorType(value) }

    /// Everyone who reads `value` will read `other`, once `finish` has been called.
    mutating func replace(_ value: ValueID, by other: ValueID) { replacements[value] = other }

    func current(_ value: ValueID) -> ValueID {
        var value = value
        while let next = replacements[value] { value = next }
        return value
    }

    /// Reads each op with its operands replaced and lets `body` answer what stands in its place.
    mutating func rewriteOps(_ body: (inout GraphRewriter, Op) throws(BackendError) -> [Op]) throws(BackendError) {
        var ops: [Op] = []
        for op in graph.ops {
            var op = op
            op.operands = op.operands.map(current)
            ops += try body(&self, op)
        }
        graph.ops = ops
        finish()
    }

    /// Applies replacements and drops dead ops.
    mutating func finish() {
        for index in graph.ops.indices { graph.ops[index].operands = graph.ops[index].operands.map(current) }
        for index in graph.outputs.indices { graph.outputs[index].value = current(graph.outputs[index].value) }
        for index in graph.states.indices { graph.states[index].output = current(graph.states[index].output) }
        replacements = [:]
        var isUsed = [Bool](repeating: false, count: graph.values.count)
        for port in graph.outputs { isUsed[port.value.index] = true }
        for port in graph.states { isUsed[port.output.index] = true }
        var kept: [Op] = []
        for op in graph.ops.reversed() where op.results.contains(where: { isUsed[$0.index] }) {
            for operand in op.operands { isUsed[operand.index] = true }
            kept.append(op)
        }
        graph.ops = kept.reversed()
    }

    // MARK: Making ops

    mutating func transpose(_ value: ValueID, _ permutation: [Int], like op: Op) -> (op: Op, result: ValueID) {
        let type = self.type(value)
        let result = graph.makeValue(.tensor(TensorType(type.scalar, permutation.map { type.shape[$0] })))
        let attribute = NamedAttribute("permutation", .dimensions(permutation.map { Dimension($0) }))
        return (
            Op(
                transposeName, operands: [value], results: [result], attributes: [attribute], location: op.location),
            result
        )
    }

    /// The same elements under another shape.
    mutating func reshape(_ value: ValueID, _ shape: [Dimension], like op: Op) -> (op: Op, result: ValueID) {
        let result = graph.makeValue(.tensor(TensorType(type(value).scalar, shape)))
        return (reshape(value, to: result, like: op), result)
    }

    func reshape(_ value: ValueID, to result: ValueID, like op: Op) -> Op {
        let attribute = NamedAttribute("new_shape", .dimensions(type(result).shape))
        return Op(reshapeName, operands: [value], results: [result], attributes: [attribute], location: op.location)
    }
}

let transposeName = "primitive.transpose_v1"
let reshapeName = "primitive.reshape_v2"

extension Op {
    /// Constant integers of an attribute; nil if it is missing or depends on a symbol.
    func numbers(_ name: String) -> [Int]? {
        guard case .dimensions(let sizes)? = self[attribute: name] else { return nil }
        var numbers: [Int] = []
        for size in sizes {
            guard let number = size.constant else { return nil }
            numbers.append(number)
        }
        return numbers
    }

    func axes(_ name: String, rank: Int) -> [Int]? {
        guard let numbers = numbers(name) else { return nil }
        let axes = numbers.map { $0 < 0 ? $0 + rank : $0 }
        return axes.allSatisfy { $0 >= 0 && $0 < rank } ? axes : nil
    }

    mutating func set(_ name: String, _ numbers: [Int]) {
        self[attribute: name] = .dimensions(numbers.map { Dimension($0) })
    }

    /// The expression of a pointwise op of the table.
    var pointwise: ScalarExpression? {
        guard case .pointwise(let expression)? = OpTable[name]?.form else { return nil }
        return expression(self)
    }

    /// Whether this is the table's op of that name, broadcasting or not: `add`.
    func isElementwise(_ name: String) -> Bool {
        self.name == "broadcasting_\(name)_v1" || self.name == "primitive.\(name)_v1"
    }

    var isView: Bool {
        guard case .view? = OpTable[name]?.form else { return false }
        return operands.count == 1 && results.count == 1
    }
}
