package import CoreAIGraph

extension InferenceContext {
    /// The elements of a named operand, if known.
    package func values(of name: String) -> [Dimension]? {
        guard let index = index(of: name), index < operandValues.count else { return nil }
        return operandValues[index]
    }

    /// How many elements a steering operand that is a vector has; nil if even that depends on data.
    package func steeringCount(_ name: String) -> Int? {
        if let values = steering(name) { return values.count }
        guard let index = index(of: name), index < operandTypes.count, let type = operandTypes[index].tensor else {
            return nil
        }
        return type.elementCount.constant
    }

    /// A size that depends on data: what the asset declares if that is a number, else a fresh symbol.
    package mutating func dataDependentSize(axis: Int, rank: Int, result: Int = 0) -> Dimension {
        if result < declaredTypes.count, let declared = declaredTypes[result].tensor, declared.rank == rank,
            let size = declared.shape[axis].constant
        {
            return Dimension(size)
        }
        return freshSymbol()
    }

    package mutating func dataDependentShape(rank: Int, result: Int = 0) -> [Dimension] {
        var shape: [Dimension] = []
        for axis in 0..<rank { shape.append(dataDependentSize(axis: axis, rank: rank, result: result)) }
        return shape
    }

    /// Sizes as they may stand in a type: unknown ones become data-dependent, negative ones are refused.
    package mutating func checkedShape(_ sizes: [Dimension], _ name: String) throws(GraphError) -> [Dimension] {
        var shape: [Dimension] = []
        for (axis, size) in sizes.enumerated() {
            if let number = size.constant, number < 0 { throw error("'\(name)' has the negative size \(number)") }
            shape.append(size.isUnknown ? dataDependentSize(axis: axis, rank: sizes.count) : size)
        }
        return shape
    }

    /// The scalar type the asset declares for a result if it is an integer type, else `fallback`.
    package func declaredInteger(_ index: Int = 0, else fallback: ScalarType) -> ScalarType {
        guard index < declaredTypes.count, let type = declaredTypes[index].tensor, type.scalar.isInteger else {
            return fallback
        }
        return type.scalar
    }

    package func expectSameScalar(_ a: String, _ b: String) throws(GraphError) {
        let (x, y) = (try tensor(a).scalar, try tensor(b).scalar)
        guard x == y else { throw error("'\(a)' is \(x.name), '\(b)' is \(y.name); they must have one element type") }
    }
}

/// The position of an element counted from the end if negative.
/// - Throws: if there is no such element, naming index and size.
@inline(__always)
package func checkedIndex(_ index: Int, size: Int, axis: Int) throws(KernelError) -> Int {
    let position = index < 0 ? index &+ size : index
    guard position >= 0, position < size else {
        throw KernelError("index \(index) is out of range for axis \(axis) of size \(size)")
    }
    return position
}
