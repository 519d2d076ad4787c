package import Foundation

/// The files of an `.aimodel` or `.aimodelc` directory.
package struct AssetDirectory: Hashable, Sendable {
    package static let extensions = ["aimodel", "aimodelc"]
    package static let contents = "main.mlirb (the program), main.hash and metadata.json"

    package let url: URL
    /// Whether there is a program; a compiled asset may lack one.
    package let hasProgram: Bool

    package var program: URL { url.appendingPathComponent("main.mlirb") }
    package var hash: URL { url.appendingPathComponent("main.hash") }
    package var metadata: URL { url.appendingPathComponent("metadata.json") }

    /// - Throws: `AssetError` if there is no directory, it cannot be read, or it holds no asset.
    package init(at url: URL) throws(AssetError) {
        self.url = url
        hasProgram = try AssetError.wrapping { () throws(ReadError) in try Self.hasProgram(at: url) }
    }

    private static func hasProgram(at url: URL) throws(ReadError) -> Bool {
        guard url.isFileURL else {
            throw ReadError(file: url.absoluteString, offset: nil, fault: "expected a file URL")
        }
        let path = url.path
        var status = stat()
        guard stat(path, &status) == 0 else { throw .system("expected an asset directory", path) }
        guard status.st_mode & S_IFMT == S_IFDIR else {
            throw ReadError(
                file: path, offset: nil, fault: "expected a directory that holds \(contents), found a file")
        }
        guard access(path, R_OK | X_OK) == 0 else { throw .system("cannot read the directory", path) }
        let names = entries(of: url)
        if names.contains("main.mlirb") { return true }
        if url.pathExtension == "aimodelc", names.contains(where: { $0 != "metadata.json" }) { return false }
        if let nested = nestedAsset(in: url) {
            throw ReadError(
                file: path, offset: nil,
                fault: "expected \(contents), found a bundle around an asset; open \(nested.path) instead")
        }
        let found = names.isEmpty ? "an empty directory" : names.sorted().prefix(8).joined(separator: ", ")
        throw ReadError(file: path, offset: nil, fault: "expected \(contents), found \(found)")
    }

    static func entries(of url: URL) -> [String] {
        (try? FileManager.default.contentsOfDirectory(atPath: url.path)) ?? []
    }

    /// An asset at most three directories down, the first by name.
    private static func nestedAsset(in url: URL, depth: Int = 3) -> URL? {
        guard depth > 0 else { return nil }
        let children = entries(of: url).sorted().prefix(256).map { url.appendingPathComponent($0) }
        let asset = children.first {
            $0.pathExtension == "aimodel" && access($0.appendingPathComponent("main.mlirb").path, F_OK) == 0
        }
        if let asset { return asset }
        for child in children where isDirectory(child) {
            if let asset = nestedAsset(in: child, depth: depth - 1) { return asset }
        }
        return nil
    }

    /// Symbolic links are not followed: they may lead back up.
    private static func isDirectory(_ url: URL) -> Bool {
        var status = stat()
        return lstat(url.path, &status) == 0 && status.st_mode & S_IFMT == S_IFDIR
    }

    /// Whether `url` looks like an asset: its extension, and a program or compiled artifacts inside.
    package static func isValid(at url: URL) -> Bool {
        url.isFileURL && extensions.contains(url.pathExtension) && (try? AssetDirectory(at: url)) != nil
    }
}

// MARK: Compiled artifacts

extension AssetDirectory {
    /// Removes what a compiler left beside the program.
    ///
    /// - Throws: `AssetError` if there is no program to compile again, or a file cannot be removed.
    package func removeDerivedArtifacts() throws(AssetError) {
        let derived = Self.entries(of: url).filter { name in
            name.split(separator: ".").dropFirst().contains("odix") || ["entries", "blobs", "digests"].contains(name)
        }
        guard !derived.isEmpty else { return }
        guard hasProgram else {
            throw AssetError(
                kind: .corruptedMetadata,
                debugMessage:
                    "\(url.path): expected main.mlirb beside the compiled artifacts, found none; nothing would be left")
        }
        for name in derived {
            let path = url.appendingPathComponent(name).path
            do { try FileManager.default.removeItem(atPath: path) } catch {
                throw AssetError(
                    kind: .corruptedMetadata, debugMessage: "\(path): cannot remove: \(error.localizedDescription)")
            }
        }
    }
}
