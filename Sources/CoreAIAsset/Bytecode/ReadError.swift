/// What is wrong with a file, and where.
package struct ReadError: Error, Sendable, CustomStringConvertible {
    package enum Code: Sendable {
        /// The bytes break a rule of the format.
        case damaged
        /// The bytes may be fine, for another version of this runtime; `version` names theirs.
        case version(String)
    }

    package var code: Code
    package var file: String
    /// The byte of `file` at which the fault was noticed, if it has a place.
    package var offset: Int?
    /// What was expected and what was found.
    package var fault: String

    package init(_ code: Code = .damaged, file: String, offset: Int?, fault: String) {
        self.code = code
        self.file = file
        self.offset = offset
        self.fault = fault
    }

    package var description: String {
        if let offset { "\(file), offset \(offset): \(fault)" } else { "\(file): \(fault)" }
    }

    /// The same fault, naming what it was found in.
    func within(_ context: String) -> ReadError {
        var error = self
        error.fault = "\(context): \(fault)"
        return error
    }
}
