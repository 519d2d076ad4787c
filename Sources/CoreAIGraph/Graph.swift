public struct ValueID: Hashable, Sendable, Comparable, CustomStringConvertible {
    public var index: Int
    public init(_ index: Int) { self.index = index }
    public static func < (a: ValueID, b: ValueID) -> Bool { a.index < b.index }
    public var description: String { "%\(index)" }
}

/// The position of an op in its graph's `ops`.
public struct OpID: Hashable, Sendable, Comparable, CustomStringConvertible {
    public var index: Int
    public init(_ index: Int) { self.index = index }
    public static func < (a: OpID, b: OpID) -> Bool { a.index < b.index }
    public var description: String { "op \(index)" }
}

/// Where in the author's source an op came from.
public struct SourceLocation: Hashable, Sendable, CustomStringConvertible {
    public var file: String
    public var line: Int
    public var column: Int
    public init(file: String, line: Int, column: Int) {
        self.file = file
        self.line = line
        self.column = column
    }
    public var description: String { "\(file):\(line)" }
}

/// Data only; what the op means is in the op table.
public struct Op: Hashable, Sendable {
    /// The stored name without its dialect: `primitive.add_v1`, `controlflow.if_v1`.
    public var name: String
    public var operands: [ValueID]
    public var results: [ValueID]
    public var attributes: [NamedAttribute]
    public var regions: [Graph]
    public var location: SourceLocation?

    public init(
        _ name: String, operands: [ValueID] = [], results: [ValueID] = [], attributes: [NamedAttribute] = [],
        regions: [Graph] = [], location: SourceLocation? = nil
    ) {
        self.name = name
        self.operands = operands
        self.results = results
        self.attributes = attributes
        self.regions = regions
        self.location = location
    }

    public subscript(attribute name: String) -> Attribute? {
        get { attributes.first { $0.name == name }?.value }
        set {
            if let index = attributes.firstIndex(where: { $0.name == name }) {
                if let newValue { attributes[index].value = newValue } else { attributes.remove(at: index) }
            } else if let newValue {
                attributes.append(NamedAttribute(name, newValue))
            }
        }
    }
}

public struct Value: Hashable, Sendable {
    public var type: ValueType
    public init(_ type: ValueType) { self.type = type }
}

/// An argument or a result of a graph, with the name callers know it by.
public struct Port: Hashable, Sendable {
    public var name: String
    public var value: ValueID
    public init(_ name: String, _ value: ValueID) {
        self.name = name
        self.value = value
    }
}

/// A state threaded through a graph: the value at entry and the value at exit share one buffer.
public struct StatePort: Hashable, Sendable {
    public var name: String
    public var input: ValueID
    public var output: ValueID
    public init(_ name: String, input: ValueID, output: ValueID) {
        self.name = name
        self.input = input
        self.output = output
    }
}

/// What a private graph stands for, so that a backend may take it whole.
public struct CompositeDeclaration: Hashable, Sendable {
    public var name: String
    public var attributes: [NamedAttribute]
    public init(_ name: String, attributes: [NamedAttribute]) {
        self.name = name
        self.attributes = attributes
    }
}

/// Operations in static single assignment form and in an order in which each follows its operands.
///
/// In a graph as read, handles and tokens are ordinary values, `inputs` holds every argument (handles included) and
/// `outputs` every result (tokens included). Canonicalization turns handles into `states` and removes tokens.
public struct Graph: Hashable, Sendable {
    public var name: String
    public var values: [Value]
    public var ops: [Op]
    public var inputs: [Port]
    public var outputs: [Port]
    public var states: [StatePort]
    /// For a region that uses values of the enclosing graph: those values. They correspond, in order, to the last
    /// `captures.count` entries of `inputs`.
    public var captures: [ValueID]
    /// The number of symbols that sizes of this graph may name.
    public var symbolCount: Int
    public var isPrivate: Bool
    public var noInline: Bool
    public var composite: CompositeDeclaration?

    public init(name: String) {
        self.name = name
        values = []
        ops = []
        inputs = []
        outputs = []
        states = []
        captures = []
        symbolCount = 0
        isPrivate = false
        noInline = false
        composite = nil
    }

    public subscript(value: ValueID) -> Value {
        get { values[value.index] }
        set { values[value.index] = newValue }
    }

    public subscript(op: OpID) -> Op {
        get { ops[op.index] }
        set { ops[op.index] = newValue }
    }

    /// The type of a value that is a dense tensor. Traps on any other: verification has ruled that out.
    public func tensorType(_ value: ValueID) -> TensorType {
        guard let type = values[value.index].type.tensor else {
            preconditionFailure("\(value) of \(name) is \(values[value.index].type), not a tensor")
        }
        return type
    }

    /// A new value of the given type.
    public mutating func makeValue(_ type: ValueType) -> ValueID {
        values.append(Value(type))
        return ValueID(values.count - 1)
    }

    /// Appends an op whose results have the given types and returns them.
    @discardableResult
    public mutating func append(
        _ name: String, _ operands: [ValueID], _ attributes: [NamedAttribute] = [], regions: [Graph] = [],
        results: [ValueType], location: SourceLocation? = nil
    ) -> [ValueID] {
        let ids = results.map { makeValue($0) }
        ops.append(
            Op(name, operands: operands, results: ids, attributes: attributes, regions: regions, location: location))
        return ids
    }

    /// The op that defines each value; nil for arguments.
    public var definingOps: [OpID?] {
        var definitions = [OpID?](repeating: nil, count: values.count)
        for (index, op) in ops.enumerated() {
            for result in op.results { definitions[result.index] = OpID(index) }
        }
        return definitions
    }

    /// The ops that use each value, in order, once each.
    public var usingOps: [[OpID]] {
        var uses = [[OpID]](repeating: [], count: values.count)
        for (index, op) in ops.enumerated() {
            for operand in op.operands + op.regions.flatMap(\.captures) where uses[operand.index].last?.index != index {
                uses[operand.index].append(OpID(index))
            }
        }
        return uses
    }
}

/// A broken rule of a graph, with the op and its place in the author's source.
public struct GraphError: Error, Sendable, CustomStringConvertible {
    public var message: String
    public var op: String?
    public var location: SourceLocation?
    /// True if the graph may well be right and it is this runtime that lacks something.
    public var isUnsupported: Bool

    public init(_ message: String, op: Op? = nil, isUnsupported: Bool = false) {
        self.message = message
        self.isUnsupported = isUnsupported
        self.op = op?.name
        location = op?.location
    }

    public var description: String {
        var text = message
        if let op { text = "\(op): \(text)" }
        if let location { text += " (at \(location))" }
        return text
    }
}
