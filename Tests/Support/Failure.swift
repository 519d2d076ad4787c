/// What a check found wrong. Suites answer lists of these, so that any test framework can report them.
public struct Failure: Sendable, CustomStringConvertible {
    /// What was checked: a case and, within it, an output.
    public var subject: String
    public var message: String

    public init(_ subject: String, _ message: String) {
        self.subject = subject
        self.message = message
    }
    public var description: String { "\(subject): \(message)" }
}
