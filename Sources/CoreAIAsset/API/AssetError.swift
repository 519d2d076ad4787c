public import Foundation

/// What is wrong with an asset.
public struct AssetError: Error, LocalizedError {
    public enum Kind: Sendable {
        /// The asset needs a newer runtime, or an older one; the value is its version.
        case unsupportedVersion(String)
        case invalidFeatureType(String)
        /// The metadata or the program breaks the format.
        case corruptedMetadata
        case invalidName
        case duplicateName
    }

    public var kind: Kind
    /// The file, the byte offset, and what was expected and found there.
    public var debugMessage: String?

    public init(kind: Kind, debugMessage: String?) {
        self.kind = kind
        self.debugMessage = debugMessage
    }

    public var errorDescription: String? {
        let sentence =
            switch kind {
            case .unsupportedVersion(let version): "The asset's version (\(version)) is not supported"
            case .invalidFeatureType(let type): "The asset has a feature of an invalid type (\(type))"
            case .corruptedMetadata: "The asset cannot be read"
            case .invalidName: "The asset holds an invalid name"
            case .duplicateName: "The asset holds a name twice"
            }
        return debugMessage.map { "\(sentence): \($0)" } ?? sentence + "."
    }
}

extension AssetError: CustomStringConvertible {
    public var description: String { errorDescription ?? "\(kind)" }
}

extension AssetError {
    init(_ error: ReadError) {
        switch error.code {
        case .damaged: self.init(kind: .corruptedMetadata, debugMessage: error.description)
        case .version(let version): self.init(kind: .unsupportedVersion(version), debugMessage: error.description)
        }
    }

    /// Runs `body` and turns its faults into public ones.
    static func wrapping<Result>(_ body: () throws(ReadError) -> Result) throws(AssetError) -> Result {
        do { return try body() } catch { throw AssetError(error) }
    }
}
