import CoreAIGraph

/// A tiny tree of scalar arithmetic that any backend can render or evaluate.
///
/// Every node has a type. Operands have the type of the tensor they stand for. Arithmetic nodes have the type of their first
/// argument and take arguments of one type; comparisons give `bool`. On 16- and 8-bit floats the whole expression is
/// evaluated in `float32` and rounded once at the end; integers wrap at every node.
public indirect enum ScalarExpression: Hashable, Sendable {
    case operand(Int)
    /// A number of the type of the result.
    case constant(Double)
    case unary(Unary, ScalarExpression)
    case binary(Binary, ScalarExpression, ScalarExpression)
    /// `condition ? a : b`
    case select(ScalarExpression, ScalarExpression, ScalarExpression)
    /// Converts to the result type of the op by the rules of `primitive.cast`.
    case castToResult(ScalarExpression)

    public enum Unary: UInt8, Hashable, Sendable, CaseIterable {
        case abs, acos, acosh, asin, asinh, atan, atanh, cos, cosh, erf, exp, log, negate, not, round, rsqrt, sin, sinh
        case sqrt, tan, tanh, realPart, imaginaryPart
    }

    public enum Binary: UInt8, Hashable, Sendable, CaseIterable {
        case add, subtract, multiply, divide, floorDivide, modulo, maximum, minimum, power
        case equal, notEqual, greater
        case bitwiseAnd, bitwiseOr, bitwiseXor, logicalAnd, logicalOr, logicalXor
        /// A complex number of a real and an imaginary part.
        case complex
    }
}
