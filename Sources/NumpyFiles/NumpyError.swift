/// A `.npy` file that cannot be read, written or used as asked.
package struct NumpyError: Error, Sendable, CustomStringConvertible {
    /// The file's path; empty for an array that was made in memory.
    package let file: String
    /// What was expected and what was found.
    package let message: String

    init(_ file: String, _ message: String) {
        self.file = file
        self.message = message
    }

    package var description: String { file.isEmpty ? message : "\(file): \(message)" }
}
