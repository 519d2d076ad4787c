public import CoreAIDelegates
public import Foundation

extension AIModel {
    /// Opens an `.aimodel` asset and specializes it for this machine.
    ///
    /// Reading verifies the program against the asset's `main.hash`; `COREAI_IGNORE_HASH=1` loads it all the same. Weights
    /// stay mapped from the file, which must not change while the model or a function of it lives.
    /// - Throws: `AssetError` if the asset is damaged, newer than this runtime, or holds an operation it does not know;
    ///   `CancellationError`; otherwise an error whose description says what this runtime lacks.
    public init(contentsOf modelURL: URL, options: SpecializationOptions = .default) async throws {
        try await self.init(contentsOf: modelURL, options: options, registry: .builtin)
    }
}
