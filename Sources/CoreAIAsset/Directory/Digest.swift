import CSHA256
package import CoreAIGraph
import Synchronization

/// A SHA-256.
package struct Digest: Hashable, Sendable, CustomStringConvertible {
    package static let byteCount = 32
    package let bytes: [UInt8]

    /// Nil unless there are 32 bytes.
    package init?(_ bytes: some Collection<UInt8>) {
        guard bytes.count == Self.byteCount else { return nil }
        self.bytes = Array(bytes)
    }

    /// The digest of `bytes`, every one of which is read.
    package init(of bytes: Bytes) {
        var result = [UInt8](repeating: 0, count: Self.byteCount)
        bytes.withUnsafeBytes { bytes in
            guard let context = EVP_MD_CTX_new() else { preconditionFailure("no memory for a digest") }
            defer { EVP_MD_CTX_free(context) }
            // These fail only for want of memory or of the algorithm itself.
            guard EVP_DigestInit_ex(context, EVP_sha256(), nil) == 1,
                EVP_DigestUpdate(context, bytes.baseAddress, bytes.count) == 1,
                EVP_DigestFinal_ex(context, &result, nil) == 1
            else { preconditionFailure("libcrypto offers no SHA-256") }
        }
        self.bytes = result
    }

    /// Lower-case hexadecimal.
    package var description: String { bytes.map(\.hex).joined() }

    private static let known = Guarded<[FileIdentity: Digest]>([:])

    /// The digest of a mapped file, taken once a process for each state of the file.
    package init(of file: MappedFile) {
        if let digest = Self.known.withLock({ $0[file.identity] }) {
            self = digest
            return
        }
        let digest = Digest(of: file.bytes)
        Self.known.withLock { $0[file.identity] = digest }
        self = digest
    }
}
