public import CoreAIGraph

/// Everything known about one op. Every room that must know what an op means reads it here.
public struct OpDefinition: Sendable {
    /// The stored name, `primitive.add_v1`.
    public let name: String
    /// Other stored names with the same meaning, such as an older version.
    public let aliases: [String]
    /// One sentence for the documentation.
    public let summary: String
    public let signature: Signature
    public let form: OpForm
    /// Result types from operand types; see `InferenceContext`.
    public let inferTypes: TypeInference
    /// Obviously right, slow.
    public let reference: ReferenceKernel
    public let tolerance: Tolerance
    /// Small cases that fix the semantics; they become the conformance corpus.
    public let examples: [Example]

    public init(
        _ name: String, aliases: [String] = [], summary: String, signature: Signature, form: OpForm = .kernel,
        inferTypes: @escaping TypeInference, reference: @escaping ReferenceKernel, tolerance: Tolerance = .exact,
        examples: [Example] = []
    ) {
        self.name = name
        self.aliases = aliases
        self.summary = summary
        self.signature = signature
        self.form = form
        self.inferTypes = inferTypes
        self.reference = reference
        self.tolerance = tolerance
        self.examples = examples
    }
}

/// How an op may be computed.
public enum OpForm: Sendable {
    /// Element by element over operands of one shape, or (for `broadcasts` in the signature) broadcast to one shape.
    /// The expression may depend on the op's attributes (the mode of `gelu`).
    case pointwise(@Sendable (Op) -> ScalarExpression)
    /// A fold along axes.
    case reduction(Reduction)
    /// The result has the operand's elements in the same row-major order; only the shape differs.
    case view
    /// Makes a dense weight from a compressed one.
    case weight
    /// Needs a kernel of its own.
    case kernel
    /// Control flow, calls, state: the executor's business.
    case control
}

public struct Reduction: Sendable {
    /// The combination of `operand(0)` (what was accumulated) and `operand(1)` (an element).
    public let combine: ScalarExpression
    /// What `operand(0)`, the accumulated value, becomes at the end; `operand(1)` is the number of elements.
    public let finish: ScalarExpression?

    public init(combine: ScalarExpression, finish: ScalarExpression? = nil) {
        self.combine = combine
        self.finish = finish
    }
}

/// The operands, results and attributes an op takes.
public struct Signature: Sendable {
    public struct Operand: Sendable {
        public enum Role: Sendable {
            /// Tensor data.
            case data
            /// Axes, sizes, strides, bounds, flags: integers or booleans that canonicalization turns into an attribute of
            /// this name when their values are known.
            case steering
        }
        public let name: String
        public let role: Role
        /// Any number of operands may stand here; only the last operand may say so.
        public let isVariadic: Bool
        /// The element types allowed; empty for any.
        public let scalars: Set<ScalarType>
    }
    public var operands: [Operand]
    /// Names of the results; a variadic op (split) has one name for all.
    public var results: [String]
    public var hasVariadicResults: Bool
    /// Attributes that the stored op carries (modes), not the ones canonicalization makes.
    public var attributes: [String]
    public var regionCount: Int
    /// For pointwise ops: operands are broadcast to one shape.
    public var broadcasts: Bool

    public init(
        _ operands: [Operand], results: [String] = ["result"], hasVariadicResults: Bool = false,
        attributes: [String] = [], regionCount: Int = 0, broadcasts: Bool = false
    ) {
        self.operands = operands
        self.results = results
        self.hasVariadicResults = hasVariadicResults
        self.attributes = attributes
        self.regionCount = regionCount
        self.broadcasts = broadcasts
    }
}

extension Signature.Operand {
    public static func data(_ name: String, _ scalars: Set<ScalarType> = []) -> Self {
        Self(name: name, role: .data, isVariadic: false, scalars: scalars)
    }
    public static func variadic(_ name: String, _ scalars: Set<ScalarType> = []) -> Self {
        Self(name: name, role: .data, isVariadic: true, scalars: scalars)
    }
    public static func steering(_ name: String) -> Self {
        Self(name: name, role: .steering, isVariadic: false, scalars: [])
    }
}

/// How far two right answers may lie apart.
public enum Tolerance: Hashable, Sendable {
    case exact
    /// Units in the last place of the result type.
    case ulps(Int)
    /// A multiple of the result type's epsilon, relative to the sum of the magnitudes of the terms added.
    case sumOfMagnitudes(Double)
}

/// One small case with its right answer.
public struct Example: Sendable {
    public struct Tensor: Sendable {
        public let scalar: ScalarType
        public let shape: [Int]
        /// Row-major. Complex elements are two numbers each.
        public let values: [Double]
        public init(_ scalar: ScalarType, _ shape: [Int], _ values: [Double]) {
            self.scalar = scalar
            self.shape = shape
            self.values = values
        }
    }
    /// One for each operand of the stored form, steering ones included.
    public let operands: [Tensor]
    public let attributes: [NamedAttribute]
    public let results: [Tensor]
    public init(_ operands: [Tensor], attributes: [NamedAttribute] = [], results: [Tensor]) {
        self.operands = operands
        self.attributes = attributes
        self.results = results
    }
}
