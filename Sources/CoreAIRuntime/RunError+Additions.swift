public import Foundation

/// What is wrong with the arguments of a run. An addition to Apple's API.
///
/// Thrown before anything is computed, except for sizes that only the computation can compare.
public struct RunError: Error, Sendable, Hashable {
    public enum Kind: Sendable, Hashable {
        /// An argument was not given.
        case missing
        /// The function has no argument of this name.
        case unknown
        /// An image for an array, or the other way round.
        case kind
        case scalarType
        case rank
        case shape
        /// Sizes of several arguments that must agree do not.
        case sizesDisagree
        /// Well-formed, but this runtime cannot do it.
        case unsupported
    }

    public var kind: Kind
    /// The function's name.
    public var function: String
    /// The name of the input, state or output.
    public var argument: String
    /// For example `int32 [1, ?]`; for an unknown name, the accepted ones.
    public var expected: String
    /// For example `int64 [1, 5]`; for an unknown name, that name.
    public var found: String
    /// The whole sentence.
    public var message: String

    /// - Parameters:
    ///   - role: "input", "state" or "output"; leads the message.
    ///   - hint: a way out, as the end of the message.
    package init(
        _ kind: Kind, function: String, role: String = "argument", argument: String, expected: String, found: String,
        hint: String? = nil
    ) {
        self.kind = kind
        self.function = function
        self.argument = argument
        self.expected = expected
        self.found = found
        let subject = "function '\(function)', \(role) '\(argument)': "
        let fault =
            switch kind {
            case .missing: "expected \(expected), found nothing"
            case .unknown: "no such \(role); expected one of \(expected)"
            case .unsupported: "\(found)"
            default: "expected \(expected), found \(found)"
            }
        message = subject + fault + (hint.map { "; \($0)" } ?? "")
    }
}

extension RunError: LocalizedError, CustomStringConvertible {
    public var description: String { message }
    public var errorDescription: String? { message }
}

extension RunError {
    /// An unknown name: lists the accepted names and suggests one that is close.
    static func unknown(_ name: String, accepted: [String], function: String, role: String) -> RunError {
        let limit = max(1, name.count / 3)
        let near = accepted.map { (name: $0, distance: name.editDistance(to: $0)) }
            .filter { $0.distance <= limit }
            .min { $0.distance < $1.distance }
        return RunError(
            .unknown, function: function, role: role, argument: name,
            expected: accepted.isEmpty ? "none" : accepted.map { "'\($0)'" }.joined(separator: ", "), found: name,
            hint: near.map { "did you mean '\($0.name)'?" })
    }
}

extension String {
    /// The insertions, deletions, replacements and swaps of neighbours that turn this word into the other, whatever
    /// their case.
    package func editDistance(to other: String) -> Int {
        let a = Array(lowercased())
        let b = Array(other.lowercased())
        var rows = [Array(0...b.count)]
        for i in a.indices {
            var row = [i + 1]
            for j in b.indices {
                var cost = Swift.min(rows[i][j + 1] + 1, row[j] + 1, rows[i][j] + (a[i] == b[j] ? 0 : 1))
                if i > 0, j > 0, a[i] == b[j - 1], a[i - 1] == b[j] { cost = Swift.min(cost, rows[i - 1][j - 1] + 1) }
                row.append(cost)
            }
            rows.append(row)
        }
        return rows[a.count][b.count]
    }
}
