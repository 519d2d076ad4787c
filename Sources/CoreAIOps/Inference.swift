public import CoreAIGraph

/// Result types from operand types. Shapes are symbolic; the same function serves concrete shapes.
///
/// Also carries values: when an op's result is a small integer tensor whose elements follow from what is known, the
/// function sets `resultValues`, and chains of shape arithmetic vanish from the plan.
public typealias TypeInference = @Sendable (inout InferenceContext) throws(GraphError) -> [ValueType]

public struct InferenceContext: Sendable {
    public let op: Op
    public let signature: Signature
    public let operandTypes: [ValueType]
    /// For each operand, its elements if they are integers or booleans (as 0 and 1) and known; single elements may be
    /// unknown.
    public let operandValues: [[Dimension]?]
    /// The result types that the asset declares. Trust the scalar type; sizes may be less precise than the truth.
    public let declaredTypes: [ValueType]

    /// The operands themselves, where sizes are worked out from data at run time; empty before.
    public var operandTensors: [HostTensor?] = []
    /// What the op's results hold, if known. One entry per result, nil when unknown.
    public var resultValues: [[Dimension]?]
    /// Sizes that the op needs to be equal and that could not be decided.
    public private(set) var constraints: [SizeConstraint] = []
    private var nextSymbol: Int
    /// The symbols this op made, because their value depends on data.
    public private(set) var freshSymbols: [Int] = []
    /// Upper bounds of those fresh symbols that only running the op can tell.
    public private(set) var symbolBounds: [Int: Dimension] = [:]

    public init(
        op: Op, signature: Signature, operandTypes: [ValueType], operandValues: [[Dimension]?],
        declaredTypes: [ValueType], nextSymbol: Int
    ) {
        self.op = op
        self.signature = signature
        self.operandTypes = operandTypes
        self.operandValues = operandValues
        self.declaredTypes = declaredTypes
        self.nextSymbol = nextSymbol
        resultValues = Array(repeating: nil, count: declaredTypes.count)
    }

    // MARK: Operands

    /// The position of a named operand among the op's present operands, or nil if canonicalization took it away.
    public func index(of name: String) -> Int? { signature.index(of: name, in: op) }

    /// The type of a named data operand.
    public func tensor(_ name: String) throws(GraphError) -> TensorType {
        guard let index = index(of: name), index < operandTypes.count, let type = operandTypes[index].tensor else {
            throw error("operand '\(name)' must be a tensor")
        }
        return type
    }

    /// The types of a variadic operand, which is the last.
    public func tensors(_ name: String) throws(GraphError) -> [TensorType] {
        guard let first = index(of: name) else { throw error("operand '\(name)' is missing") }
        var types: [TensorType] = []
        for type in operandTypes.dropFirst(first) {
            guard let tensor = type.tensor else { throw error("operand '\(name)' must be a tensor") }
            types.append(tensor)
        }
        return types
    }

    /// The elements of a steering operand, from the attribute of its name or from known operand values; nil if they
    /// depend on data.
    public func steering(_ name: String) -> [Dimension]? {
        if case .dimensions(let values)? = op[attribute: name] { return values }
        guard let index = index(of: name), index < operandValues.count, let values = operandValues[index],
            !values.contains(where: \.isUnknown)
        else { return nil }
        return values
    }

    /// The elements of a steering operand that must be plain numbers (axes, strides, permutations).
    /// - Throws: if they are not known, saying that the operand must be constant.
    public func numbers(_ name: String) throws(GraphError) -> [Int] {
        guard let values = steering(name) else { throw error("operand '\(name)' must be known when the model is loaded") }
        var numbers: [Int] = []
        for value in values {
            guard let number = value.constant else {
                throw error("operand '\(name)' must be constant, it is \(value)")
            }
            numbers.append(number)
        }
        return numbers
    }

    public func number(_ name: String) throws(GraphError) -> Int {
        let values = try numbers(name)
        guard values.count == 1 else { throw error("operand '\(name)' must be one number, it has \(values.count)") }
        return values[0]
    }

    /// Axes made non-negative and checked against `rank`.
    public func axes(_ name: String, rank: Int) throws(GraphError) -> [Int] {
        var axes: [Int] = []
        for axis in try numbers(name) { axes.append(try normalized(axis: axis, rank: rank, name)) }
        return axes
    }

    public func axis(_ name: String, rank: Int) throws(GraphError) -> Int {
        try normalized(axis: try number(name), rank: rank, name)
    }

    private func normalized(axis: Int, rank: Int, _ name: String) throws(GraphError) -> Int {
        let (positive, overflow) = axis < 0 ? axis.addingReportingOverflow(rank) : (axis, false)
        guard !overflow, positive >= 0, positive < rank else {
            throw error("\(name) \(axis) is out of range for rank \(rank)")
        }
        return positive
    }

    // MARK: Sizes

    /// The size that two sizes must share. Sizes that are surely different throw; undecided ones become a constraint
    /// checked at run time, and the simpler is returned.
    public mutating func same(_ a: Dimension, _ b: Dimension, _ what: @autoclosure () -> String) throws(GraphError)
        -> Dimension
    {
        if a == b { return a }
        if let x = a.constant, let y = b.constant { throw error("\(what()): \(x) and \(y) differ") }
        if a.isUnknown { return b }
        if b.isUnknown { return a }
        constraints.append(SizeConstraint(a, b, op: op))
        return a.constant != nil ? a : (b.constant != nil ? b : a)
    }

    public mutating func sameShape(_ a: [Dimension], _ b: [Dimension], _ what: @autoclosure () -> String)
        throws(GraphError) -> [Dimension]
    {
        guard a.count == b.count else { throw error("\(what()): ranks \(a.count) and \(b.count) differ") }
        var shape: [Dimension] = []
        for (x, y) in zip(a, b) { shape.append(try same(x, y, what())) }
        return shape
    }

    /// NumPy broadcasting of two shapes. A size of which it is not known whether it is 1 is taken to equal the other.
    public mutating func broadcast(_ a: [Dimension], _ b: [Dimension]) throws(GraphError) -> [Dimension] {
        let rank = max(a.count, b.count)
        var shape: [Dimension] = []
        for axis in 0..<rank {
            let x = axis < rank - a.count ? Dimension(1) : a[axis - (rank - a.count)]
            let y = axis < rank - b.count ? Dimension(1) : b[axis - (rank - b.count)]
            if x.constant == 1 {
                shape.append(y)
            } else if y.constant == 1 {
                shape.append(x)
            } else {
                shape.append(try same(x, y, "operands do not broadcast at axis \(axis)"))
            }
        }
        return shape
    }

    /// A size that follows from the contents of the op's operands, known before the op runs.
    public mutating func freshSymbol() -> Dimension {
        defer { nextSymbol += 1 }
        freshSymbols.append(nextSymbol)
        return .symbol(nextSymbol)
    }

    /// A size that only running the op can tell, as for `non_zero`. The result is allocated with `bound` and the kernel
    /// answers the true shape in `KernelContext.actualShapes`.
    public mutating func freshSymbol(atMost bound: Dimension) -> Dimension {
        symbolBounds[nextSymbol] = bound
        return freshSymbol()
    }

    public func error(_ message: String) -> GraphError { GraphError(message, op: op) }

    /// The scalar type the asset declares for a result.
    public func declaredScalar(_ index: Int = 0) throws(GraphError) -> ScalarType {
        guard index < declaredTypes.count, let type = declaredTypes[index].tensor else {
            throw error("result \(index) must be a tensor")
        }
        return type.scalar
    }
}

extension Signature {
    /// The position of a named operand among the operands an op has. Steering operands that canonicalization turned
    /// into an attribute are no longer there, and those behind them move up.
    public func index(of name: String, in op: Op) -> Int? {
        var index = 0
        for operand in operands {
            let isAttribute = operand.role == .steering && op[attribute: operand.name] != nil
            if operand.name == name { return isAttribute ? nil : index }
            if !isAttribute { index += 1 }
        }
        return nil
    }
}
