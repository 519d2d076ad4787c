/// One size of a tensor: a number, an expression over symbols, or unknown.
///
/// Expressions are kept as polynomials over atoms, so that equal sizes written differently (`s0*2+s0` and `3*s0`)
/// compare equal. Unknown sizes occur only in graphs as read; shape inference replaces them.
public struct Dimension: Hashable, Sendable {
    package var storage: Storage

    package enum Storage: Hashable, Sendable {
        case constant(Int)
        case polynomial([Term])  // sorted, no zero coefficients, not a plain constant
        case unknown
    }

    /// `coefficient * factors[0] * factors[1] * ...`
    package struct Term: Hashable, Sendable {
        var coefficient: Int
        var factors: [Atom]
    }

    package indirect enum Atom: Hashable, Sendable {
        case symbol(Int)
        case floorDivide(Dimension, Dimension)
        case modulo(Dimension, Dimension)
        case maximum(Dimension, Dimension)
        case minimum(Dimension, Dimension)
    }

    public init(_ value: Int) { storage = .constant(value) }
    package init(_ storage: Storage) { self.storage = storage }

    public static let unknown = Dimension(.unknown)
    public static func symbol(_ number: Int) -> Dimension {
        Dimension(.polynomial([Term(coefficient: 1, factors: [.symbol(number)])]))
    }

    /// The number, if this size is one.
    // Inlined into other modules, it makes the optimizer of Swift 6.3 fail ("Found outside of lifetime use").
    @inline(never)
    public var constant: Int? {
        if case .constant(let value) = storage { value } else { nil }
    }

    public var isUnknown: Bool { storage == .unknown }

    /// The symbol's number, if this size is exactly one symbol.
    public var symbolNumber: Int? {
        guard case .polynomial(let terms) = storage, terms.count == 1, terms[0].coefficient == 1,
            terms[0].factors.count == 1, case .symbol(let number) = terms[0].factors[0]
        else { return nil }
        return number
    }
}

extension Dimension: ExpressibleByIntegerLiteral {
    public init(integerLiteral value: Int) { self.init(value) }
}

// MARK: Arithmetic

extension Dimension {
    /// Sums and products whose numbers leave the range of `Int` are unknown: no tensor has such a size.
    public static func + (a: Dimension, b: Dimension) -> Dimension {
        if case .constant(let x) = a.storage, case .constant(let y) = b.storage {
            let (sum, overflow) = x.addingReportingOverflow(y)
            return overflow ? .unknown : Dimension(sum)
        }
        guard let left = a.terms, let right = b.terms else { return .unknown }
        return normalized(left + right)
    }

    public static func - (a: Dimension, b: Dimension) -> Dimension { a + b * Dimension(-1) }

    public static func * (a: Dimension, b: Dimension) -> Dimension {
        if case .constant(let x) = a.storage, case .constant(let y) = b.storage {
            let (product, overflow) = x.multipliedReportingOverflow(by: y)
            return overflow ? .unknown : Dimension(product)
        }
        if a.constant == 1 { return b }
        if b.constant == 1 { return a }
        guard let left = a.terms, let right = b.terms, left.count * right.count <= 64 else { return .unknown }
        var terms: [Term] = []
        for x in left {
            for y in right {
                let (coefficient, overflow) = x.coefficient.multipliedReportingOverflow(by: y.coefficient)
                if overflow { return .unknown }
                terms.append(Term(coefficient: coefficient, factors: (x.factors + y.factors).sorted(by: Atom.precedes)))
            }
        }
        return normalized(terms)
    }

    /// The quotient rounded toward minus infinity. Unknown when dividing by zero.
    public func floorDivided(by divisor: Dimension) -> Dimension {
        if let x = constant, let y = divisor.constant {
            guard y != 0, !(x == .min && y == -1) else { return .unknown }
            return Dimension(Self.floorDivide(x, y))
        }
        if divisor.constant == 1 { return self }
        if self == divisor, !isUnknown { return 1 }
        if let exact = exactlyDivided(by: divisor) { return exact }
        return atom(.floorDivide(self, divisor), ifKnown: [self, divisor])
    }

    public func ceilDivided(by divisor: Dimension) -> Dimension {
        (self + divisor - 1).floorDivided(by: divisor)
    }

    /// The remainder that goes with `floorDivided(by:)`.
    public func modulo(_ divisor: Dimension) -> Dimension {
        if let x = constant, let y = divisor.constant {
            guard y != 0, y != -1 else { return y == 0 ? .unknown : 0 }
            return Dimension(x - Self.floorDivide(x, y) * y)
        }
        if exactlyDivided(by: divisor) != nil { return 0 }
        return atom(.modulo(self, divisor), ifKnown: [self, divisor])
    }

    public static func maximum(_ a: Dimension, _ b: Dimension) -> Dimension {
        if let x = a.constant, let y = b.constant { return Dimension(Swift.max(x, y)) }
        if a == b { return a }
        // Sizes are never negative, so 0 is no bound on a symbol or a product of symbols.
        if a.constant == 0, b.isCertainlyNonnegative { return b }
        if b.constant == 0, a.isCertainlyNonnegative { return a }
        if let gap = (a - b).constant { return gap >= 0 ? a : b }
        let (first, second) = ordered(a, b)
        return a.atom(.maximum(first, second), ifKnown: [a, b])
    }

    public static func minimum(_ a: Dimension, _ b: Dimension) -> Dimension {
        if let x = a.constant, let y = b.constant { return Dimension(Swift.min(x, y)) }
        if a == b { return a }
        if let gap = (a - b).constant { return gap <= 0 ? a : b }
        if a.constant == 0, b.isCertainlyNonnegative { return a }
        if b.constant == 0, a.isCertainlyNonnegative { return b }
        let (first, second) = ordered(a, b)
        return a.atom(.minimum(first, second), ifKnown: [a, b])
    }

    /// True when every term is positive and built of symbols (which stand for sizes) alone.
    public var isCertainlyNonnegative: Bool {
        switch storage {
        case .unknown: false
        case .constant(let value): value >= 0
        case .polynomial(let terms):
            terms.allSatisfy { term in
                term.coefficient >= 0
                    && term.factors.allSatisfy { factor in
                        switch factor {
                        case .symbol: true
                        case .floorDivide(let a, let b): a.isCertainlyNonnegative && b.isCertainlyNonnegative
                        case .modulo(_, let b): b.isCertainlyNonnegative
                        case .maximum(let a, let b): a.isCertainlyNonnegative || b.isCertainlyNonnegative
                        case .minimum(let a, let b): a.isCertainlyNonnegative && b.isCertainlyNonnegative
                        }
                    }
            }
        }
    }

    private static func floorDivide(_ x: Int, _ y: Int) -> Int {
        let quotient = x / y
        return (x % y != 0 && (x < 0) != (y < 0)) ? quotient - 1 : quotient
    }

    private static func ordered(_ a: Dimension, _ b: Dimension) -> (Dimension, Dimension) {
        a.description <= b.description ? (a, b) : (b, a)
    }

    private func atom(_ atom: Atom, ifKnown parts: [Dimension]) -> Dimension {
        if parts.contains(where: \.isUnknown) || depth > 8 { return .unknown }
        return Dimension(.polynomial([Term(coefficient: 1, factors: [atom])]))
    }

    /// Bounds the nesting that a hostile graph can build up.
    private var depth: Int {
        guard case .polynomial(let terms) = storage else { return 0 }
        return terms.flatMap(\.factors).map(\.depth).max() ?? 0
    }

    private var terms: [Term]? {
        switch storage {
        case .unknown: nil
        case .constant(let value): [Term(coefficient: value, factors: [])]
        case .polynomial(let terms): terms
        }
    }

    private static func normalized(_ terms: [Term]) -> Dimension {
        var sums: [[Atom]: Int] = [:]
        for term in terms {
            let (sum, overflow) = sums[term.factors, default: 0].addingReportingOverflow(term.coefficient)
            if overflow { return .unknown }
            sums[term.factors] = sum
        }
        let kept = sums.filter { $0.value != 0 }
        if kept.isEmpty { return 0 }
        if kept.count == 1, let value = kept[[]] { return Dimension(value) }
        if kept.count > 32 { return .unknown }
        let sorted = kept.map { Term(coefficient: $0.value, factors: $0.key) }
            .sorted { Atom.precedes($0.factors, $1.factors) }
        return Dimension(.polynomial(sorted))
    }

    /// The quotient if each term is divisible by a one-term divisor.
    private func exactlyDivided(by divisor: Dimension) -> Dimension? {
        guard let terms, let divisors = divisor.terms, divisors.count == 1, divisors[0].coefficient != 0 else {
            return nil
        }
        var quotient: [Term] = []
        for term in terms {
            guard divisors[0].coefficient != -1 || term.coefficient != .min,
                term.coefficient % divisors[0].coefficient == 0
            else { return nil }
            var factors = term.factors
            for factor in divisors[0].factors {
                guard let index = factors.firstIndex(of: factor) else { return nil }
                factors.remove(at: index)
            }
            quotient.append(Term(coefficient: term.coefficient / divisors[0].coefficient, factors: factors))
        }
        return Self.normalized(quotient)
    }
}

extension Dimension.Atom {
    fileprivate var depth: Int {
        switch self {
        case .symbol: 0
        case .floorDivide(let a, let b), .modulo(let a, let b), .maximum(let a, let b), .minimum(let a, let b):
            1 + Swift.max(a.nesting, b.nesting)
        }
    }

    static func precedes(_ a: Dimension.Atom, _ b: Dimension.Atom) -> Bool {
        switch (a, b) {
        case (.symbol(let x), .symbol(let y)): x < y
        case (.symbol, _): true
        case (_, .symbol): false
        default: a.description < b.description
        }
    }

    /// Higher degrees first, a plain number last.
    static func precedes(_ a: [Dimension.Atom], _ b: [Dimension.Atom]) -> Bool {
        if a.count != b.count { return a.count > b.count }
        for (x, y) in zip(a, b) where x != y { return precedes(x, y) }
        return false
    }
}

extension Dimension {
    fileprivate var nesting: Int {
        guard case .polynomial(let terms) = storage else { return 0 }
        return terms.flatMap(\.factors).map(\.depth).max() ?? 0
    }
}

// MARK: Evaluation

extension Dimension {
    /// The size under an assignment of the symbols, or nil if a symbol has no value, the size is unknown, a divisor is
    /// zero, or the number leaves the range of `Int`.
    public func evaluated(_ symbols: (Int) -> Int?) -> Int? {
        switch storage {
        case .constant(let value): return value
        case .unknown: return nil
        case .polynomial(let terms):
            var sum = 0
            for term in terms {
                var product = term.coefficient
                for factor in term.factors {
                    guard let value = factor.evaluated(symbols) else { return nil }
                    let (next, overflow) = product.multipliedReportingOverflow(by: value)
                    if overflow { return nil }
                    product = next
                }
                let (next, overflow) = sum.addingReportingOverflow(product)
                if overflow { return nil }
                sum = next
            }
            return sum
        }
    }

    public func evaluated(_ symbols: [Int?]) -> Int? {
        evaluated { symbols.indices.contains($0) ? symbols[$0] : nil }
    }

    /// The same size with symbols replaced.
    public func substituting(_ replacement: (Int) -> Dimension?) -> Dimension {
        guard case .polynomial(let terms) = storage else { return self }
        return terms.reduce(Dimension(0)) { sum, term in
            sum + term.factors.reduce(Dimension(term.coefficient)) { $0 * $1.substituting(replacement) }
        }
    }

    /// The symbols that occur in this size.
    public var symbols: Set<Int> {
        guard case .polynomial(let terms) = storage else { return [] }
        return terms.flatMap(\.factors).reduce(into: []) { $0.formUnion($1.symbols) }
    }
}

extension Dimension.Atom {
    fileprivate func evaluated(_ symbols: (Int) -> Int?) -> Int? {
        func both(_ a: Dimension, _ b: Dimension) -> (Int, Int)? {
            guard let x = a.evaluated(symbols), let y = b.evaluated(symbols) else { return nil }
            return (x, y)
        }
        switch self {
        case .symbol(let number): return symbols(number)
        case .floorDivide(let a, let b):
            return both(a, b).flatMap { Dimension($0).floorDivided(by: Dimension($1)).constant }
        case .modulo(let a, let b): return both(a, b).flatMap { Dimension($0).modulo(Dimension($1)).constant }
        case .maximum(let a, let b): return both(a, b).map { Swift.max($0, $1) }
        case .minimum(let a, let b): return both(a, b).map { Swift.min($0, $1) }
        }
    }

    fileprivate func substituting(_ replacement: (Int) -> Dimension?) -> Dimension {
        switch self {
        case .symbol(let number): replacement(number) ?? .symbol(number)
        case .floorDivide(let a, let b): a.substituting(replacement).floorDivided(by: b.substituting(replacement))
        case .modulo(let a, let b): a.substituting(replacement).modulo(b.substituting(replacement))
        case .maximum(let a, let b): .maximum(a.substituting(replacement), b.substituting(replacement))
        case .minimum(let a, let b): .minimum(a.substituting(replacement), b.substituting(replacement))
        }
    }

    fileprivate var symbols: Set<Int> {
        switch self {
        case .symbol(let number): [number]
        case .floorDivide(let a, let b), .modulo(let a, let b), .maximum(let a, let b), .minimum(let a, let b):
            a.symbols.union(b.symbols)
        }
    }
}

// MARK: Text

extension Dimension: CustomStringConvertible {
    public var description: String {
        switch storage {
        case .constant(let value): return String(value)
        case .unknown: return "?"
        case .polynomial(let terms):
            var text = ""
            for term in terms {
                let factors = term.factors.map(\.description).joined(separator: "*")
                let magnitude = String(term.coefficient.magnitude)
                let body =
                    term.factors.isEmpty
                    ? magnitude : (term.coefficient.magnitude == 1 ? factors : factors + "*" + magnitude)
                if term.coefficient < 0 {
                    text += "-" + body
                } else {
                    text += (text.isEmpty ? "" : "+") + body
                }
            }
            return text
        }
    }
}

extension Dimension.Atom: CustomStringConvertible {
    package var description: String {
        switch self {
        case .symbol(let number): "s\(number)"
        case .floorDivide(let a, let b): "div(\(a), \(b))"
        case .modulo(let a, let b): "mod(\(a), \(b))"
        case .maximum(let a, let b): "max(\(a), \(b))"
        case .minimum(let a, let b): "min(\(a), \(b))"
        }
    }
}
