package import CoreAIGraph
import Foundation

/// A whole file mapped into memory, read-only and private. The mapping lives as long as any `Bytes` made from it.
///
/// A file that someone cuts short while it is mapped ends the process when the missing part is touched.
package struct MappedFile: Sendable {
    package let bytes: Bytes
    package let identity: FileIdentity

    /// - Throws: `ReadError` if the file cannot be opened, is not a regular file, or cannot be mapped.
    package init(path: String) throws(ReadError) {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { throw .system("cannot open", path) }
        defer { close(descriptor) }
        var status = stat()
        guard fstat(descriptor, &status) == 0 else { throw .system("cannot examine", path) }
        guard status.st_mode & S_IFMT == S_IFREG else {
            throw ReadError(file: path, offset: nil, fault: "expected a regular file")
        }
        identity = FileIdentity(status)
        let count = Int(status.st_size)
        guard count > 0 else {
            bytes = Bytes(UnsafeRawBufferPointer(start: nil, count: 0), owner: nil)
            return
        }
        guard let base = mmap(nil, count, PROT_READ, MAP_PRIVATE, descriptor, 0), base != MAP_FAILED else {
            throw .system("cannot map", path)
        }
        let mapping = Mapping(base: base, byteCount: count)
        bytes = Bytes(UnsafeRawBufferPointer(start: base, count: count), owner: mapping)
    }

    private final class Mapping: @unchecked Sendable {
        private let base: UnsafeMutableRawPointer
        private let byteCount: Int
        init(base: UnsafeMutableRawPointer, byteCount: Int) {
            self.base = base
            self.byteCount = byteCount
        }
        deinit { munmap(base, byteCount) }
    }
}

/// What changes when the content of a file may have changed.
package struct FileIdentity: Hashable, Sendable {
    package var device: UInt64
    package var inode: UInt64
    package var size: Int
    package var modified: Int
    package var changed: Int

    init(_ status: stat) {
        device = UInt64(status.st_dev)
        inode = UInt64(status.st_ino)
        size = Int(status.st_size)
        modified = status.st_mtim.nanoseconds
        changed = status.st_ctim.nanoseconds
    }
}

extension timespec {
    fileprivate var nanoseconds: Int { tv_sec &* 1_000_000_000 &+ tv_nsec }
}

extension ReadError {
    /// The fault the last system call left in `errno`.
    static func system(_ action: String, _ path: String) -> ReadError {
        ReadError(file: path, offset: nil, fault: "\(action): \(String(cString: strerror(errno)).lowercasedFirst)")
    }
}

extension String {
    fileprivate var lowercasedFirst: String { prefix(1).lowercased() + dropFirst() }
}
