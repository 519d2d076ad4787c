/// Ordinary notation for expressions.
extension ScalarExpression: ExpressibleByFloatLiteral, ExpressibleByIntegerLiteral {
    public init(floatLiteral value: Double) { self = .constant(value) }
    public init(integerLiteral value: Int) { self = .constant(Double(value)) }

    static func + (a: Self, b: Self) -> Self { .binary(.add, a, b) }
    static func - (a: Self, b: Self) -> Self { .binary(.subtract, a, b) }
    static func * (a: Self, b: Self) -> Self { .binary(.multiply, a, b) }
    static func / (a: Self, b: Self) -> Self { .binary(.divide, a, b) }
    static prefix func - (a: Self) -> Self { .unary(.negate, a) }

    static let x = ScalarExpression.operand(0)
    static let y = ScalarExpression.operand(1)

    /// 1 / (1 + exp(-a))
    static func sigmoid(_ a: Self) -> Self { 1 / (1 + .unary(.exp, -a)) }
}
