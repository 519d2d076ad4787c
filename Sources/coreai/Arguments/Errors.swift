import CoreAI
import Foundation

/// Arguments that do not fit the table: exit status 64.
struct UsageError: Error {
    let message: String
    init(_ message: String) { self.message = message }
}

/// What did not work, as one sentence: exit status 1.
struct Failure: Error {
    let message: String
    init(_ message: String) { self.message = message }
}

/// One sentence for a reader who did not write the program.
func describe(_ error: any Error) -> String {
    switch error {
    case let error as UsageError: error.message
    case let error as Failure: error.message
    // Its general sentence calls a path without an asset corrupted.
    case let error as AssetError: error.debugMessage ?? error.description
    case let error as any LocalizedError: error.errorDescription ?? "\(error)"
    default: "\(error)"
    }
}
