import CoreAIGraph
package import Foundation
import Synchronization

/// An open asset: its program is mapped, and decoded when first asked for.
package final class LoadedAsset: Sendable {
    package let directory: AssetDirectory
    /// The mapped program; nil for a compiled asset without one.
    package let file: MappedFile?
    private let decoded = Guarded<Program?>(nil)

    /// Opens the directory and maps the program without reading it.
    ///
    /// - Throws: `AssetError` if the directory holds no asset or the program cannot be mapped.
    package init(contentsOf url: URL) throws(AssetError) {
        let directory = try AssetDirectory(at: url)
        self.directory = directory
        guard directory.hasProgram else {
            file = nil
            return
        }
        file = try AssetError.wrapping { () throws(ReadError) in try MappedFile(path: directory.program.path) }
    }

    /// The program, decoded once; nil for a compiled asset without one. Its weights are slices of the mapped file, which
    /// they keep alive.
    ///
    /// - Throws: `AssetError` naming file, offset and fault.
    package func program() throws(AssetError) -> Program? {
        guard let file else { return nil }
        if let known = decoded.withLock({ $0 }) { return known }
        let path = directory.program.path
        let program = try AssetError.wrapping { () throws(ReadError) in try Program(bytecode: file.bytes, file: path) }
        return decoded.withLock { known in
            let first = known ?? program
            known = first
            return first
        }
    }

    /// The program's SHA-256, compared with `main.hash`. Reads every byte of the program the first time a process asks for
    /// it; opening and summarizing never do.
    ///
    /// - Parameter ignoringHash: whether a wrong `main.hash` is only noted.
    /// - Returns: the digest, and a note if it could not be compared or was not equal.
    /// - Throws: `AssetError` if there is no program, or the hash is wrong and not ignored.
    package func verifiedDigest(ignoringHash: Bool) throws(AssetError) -> (digest: Digest, note: String?) {
        guard let file else {
            throw AssetError(
                kind: .corruptedMetadata,
                debugMessage: "\(directory.url.path): expected main.mlirb, found none to take the digest of")
        }
        let path = directory.hash.path
        guard access(path, F_OK) == 0 else {
            return (Digest(of: file), "\(path): no such file; the program was not checked")
        }
        let stored = try AssetError.wrapping { () throws(ReadError) in try MappedFile(path: path) }
        guard let expected = stored.bytes.withUnsafeBytes({ Digest($0) }) else {
            let fault = "\(path): expected \(Digest.byteCount) bytes, found \(stored.bytes.count)"
            guard ignoringHash else { throw AssetError(kind: .corruptedMetadata, debugMessage: fault + Self.override) }
            return (Digest(of: file), fault)
        }
        let digest = Digest(of: file)
        guard digest != expected else { return (digest, nil) }
        var fault = "\(directory.program.path): expected SHA-256 \(expected), found \(digest)"
        do { _ = try program() } catch {
            fault += " in \(file.bytes.count) bytes, which do not decode either (\(error.debugMessage ?? ""))"
        }
        guard ignoringHash else { throw AssetError(kind: .corruptedMetadata, debugMessage: fault + Self.override) }
        return (digest, fault)
    }

    private static let override = "; to load it as it is, use --ignore-hash or COREAI_IGNORE_HASH=1"
}
