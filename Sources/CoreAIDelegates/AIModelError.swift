import Foundation

/// A model that could not be loaded for a reason that is no damage in its file.
package struct AIModelError: Error, LocalizedError, CustomNSError, CustomStringConvertible {
    package enum Code: Int, Sendable {
        case loadFailed = 0
        case failedToSpecialize = 1
    }
    package let code: Code
    package let message: String

    package init(_ code: Code, _ message: String) {
        self.code = code
        self.message = message
    }

    package static var errorDomain: String { "CoreAI.AIModelError" }
    package var errorCode: Int { code.rawValue }
    package var errorUserInfo: [String: Any] { [NSLocalizedDescriptionKey: message] }
    package var errorDescription: String? { message }
    package var description: String { message }
}
