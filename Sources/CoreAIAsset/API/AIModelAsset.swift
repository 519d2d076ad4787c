public import Foundation

/// An asset on disk: its metadata, and a summary of its functions. Nothing is specialized.
public struct AIModelAsset {
    /// The asset's directory.
    public let url: URL
    public private(set) var metadata: Metadata
    private let asset: LoadedAsset

    /// Whether `url` is a directory with an asset's extension (`aimodel` or `aimodelc`) that holds a program or compiled
    /// artifacts. Nothing is decoded.
    public static func isValid(at url: URL) -> Bool { AssetDirectory.isValid(at: url) }

    /// Opens the asset and reads its metadata, not its program.
    ///
    /// - Throws: `AssetError` if there is no asset at `url`, its metadata is damaged, or it needs another runtime.
    public init(contentsOf url: URL) throws {
        self.url = url
        let asset = try LoadedAsset(contentsOf: url)
        self.asset = asset
        metadata = try AssetError.wrapping { () throws(ReadError) in
            try Metadata(MetadataFile(at: asset.directory.metadata))
        }
    }

    /// The asset's functions and, if asked for, statistics of its operations and weights.
    ///
    /// - Returns: nil if the asset has no program, as a compiled asset may.
    /// - Throws: `AssetError` if the program cannot be decoded.
    public func summary(includingStatistics: Bool) throws -> Summary? {
        try asset.program().map { Summary($0, includingStatistics: includingStatistics) }
    }

    /// Removes compiled artifacts from the directory and leaves the program.
    ///
    /// - Throws: `AssetError` if nothing would be left, or a file cannot be removed.
    public mutating func removeDerivedArtifacts() throws {
        try asset.directory.removeDerivedArtifacts()
    }

    /// Changes the metadata here and on disk. The file is replaced as a whole; members that this runtime does not know stay.
    ///
    /// - Parameter updates: changes a copy of the metadata. If it throws, nothing is written and the error is rethrown.
    /// - Throws: `AssetError` if a value has no JSON form or the file cannot be written.
    public mutating func updateMetadata(_ updates: (inout Metadata) throws -> Void) throws {
        var updated = metadata
        try updates(&updated)
        let place = asset.directory.metadata
        let old = metadata
        try AssetError.wrapping { () throws(ReadError) in
            var file = try MetadataFile(at: place)
            try updated.store(in: &file, replacing: old)
            try file.write()
        }
        metadata = updated
    }
}
