import Foundation

/// `metadata.json` as stored. Keys that this runtime does not know survive a rewrite.
struct MetadataFile: Sendable {
    static let majorVersion = 2
    private(set) var root: JSON
    private let url: URL

    /// An asset without the file has empty metadata.
    ///
    /// - Throws: `ReadError` for text that is not a JSON object, or for an asset version other than 2.x.
    init(at url: URL) throws(ReadError) {
        self.url = url
        guard access(url.path, F_OK) == 0 else {
            root = .object([JSON.Member(key: "assetVersion", value: .string("2.0"))])
            return
        }
        let bytes = try MappedFile(path: url.path).bytes
        guard bytes.count <= 16 << 20 else {
            throw ReadError(
                file: url.path, offset: nil, fault: "expected at most 16 MB of metadata, found \(bytes.count) bytes")
        }
        root = try JSON(bytes.withUnsafeBytes { Array($0) }, file: url.path)
        guard case .object = root else { throw fault("expected a JSON object, found another value") }
        guard case .string(let version)? = root["assetVersion"] else {
            throw fault("expected a string as assetVersion, found \(root["assetVersion"]?.text() ?? "none")")
        }
        let parts = version.split(separator: ".", omittingEmptySubsequences: false)
        guard parts.count == 2, let major = Int(parts[0]), Int(parts[1]) != nil else {
            throw fault("expected assetVersion as major.minor, found \"\(version)\"")
        }
        guard major == Self.majorVersion else {
            var error = fault("asset \(version), this runtime reads up to \(Self.majorVersion).x")
            error.code = .version(version)
            throw error
        }
    }

    func fault(_ text: String) -> ReadError { ReadError(file: url.path, offset: nil, fault: text) }

    /// The text under `key`, "" when absent.
    func text(_ key: String) throws(ReadError) -> String {
        switch root[key] {
        case .string(let text)?: return text
        case nil: return ""
        case let value?: throw fault("expected a string as \(key), found \(value.text())")
        }
    }

    /// The members of the object under `key`, none when absent.
    func members(_ key: String) throws(ReadError) -> [JSON.Member] {
        switch root[key] {
        case .object(let members)?: return members
        case nil: return []
        case let value?: throw fault("expected an object as \(key), found \(value.text())")
        }
    }

    mutating func set(_ key: String, _ value: JSON?) { root[key] = value }

    /// Replaces the file: it holds the old text or the new one, whatever happens.
    func write() throws(ReadError) {
        let path = url.path
        let temporary = url.deletingLastPathComponent()
            .appendingPathComponent(".metadata.json.\(UInt64.random(in: 0 ... .max))").path
        let descriptor = open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o644)
        guard descriptor >= 0 else { throw .system("cannot write", path) }
        let bytes = Array((root.text() + "\n").utf8)
        let isWritten = bytes.withUnsafeBytes { bytes in
            var rest = UnsafeRawBufferPointer(bytes)
            while !rest.isEmpty {
                let count = Foundation.write(descriptor, rest.baseAddress, rest.count)
                if count < 0, errno == EINTR { continue }
                guard count > 0 else { return false }
                rest = UnsafeRawBufferPointer(rebasing: rest.dropFirst(count))
            }
            return fsync(descriptor) == 0
        }
        let failure = errno
        close(descriptor)
        guard isWritten, rename(temporary, path) == 0 else {
            if !isWritten { errno = failure }
            let error = ReadError.system("cannot write", path)
            unlink(temporary)
            throw error
        }
        // The new name survives a power cut only once the directory is on disk too.
        let directory = open(url.deletingLastPathComponent().path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard directory >= 0 else { return }
        fsync(directory)
        close(directory)
    }
}

/// Dates as `yyyyMMddTHHmmssZ`, in UTC.
enum AssetDate {
    static func date(_ text: String) -> Date? {
        let bytes = Array(text.utf8)
        guard bytes.count == 16, bytes[8] == UInt8(ascii: "T"), bytes[15] == UInt8(ascii: "Z") else { return nil }
        func number(_ range: Range<Int>) -> Int32? {
            guard bytes[range].allSatisfy({ (48...57).contains($0) }) else { return nil }
            return bytes[range].reduce(0) { $0 * 10 + Int32($1 - 48) }
        }
        guard let year = number(0..<4), let month = number(4..<6), let day = number(6..<8), let hour = number(9..<11),
            let minute = number(11..<13), let second = number(13..<15)
        else { return nil }
        var parts = tm()
        (parts.tm_year, parts.tm_mon, parts.tm_mday) = (year - 1900, month - 1, day)
        (parts.tm_hour, parts.tm_min, parts.tm_sec) = (hour, minute, second)
        let date = Date(timeIntervalSince1970: Double(timegm(&parts)))
        // A 31st of February has become another day.
        return self.text(date) == text ? date : nil
    }

    static func text(_ date: Date) -> String? {
        guard abs(date.timeIntervalSince1970) < 1e12 else { return nil }
        var seconds = time_t(date.timeIntervalSince1970.rounded(.down))
        var parts = tm()
        guard gmtime_r(&seconds, &parts) != nil, (0...9999).contains(parts.tm_year + 1900) else { return nil }
        func padded(_ number: Int32, _ width: Int) -> String {
            String(repeating: "0", count: max(0, width - "\(number)".count)) + "\(number)"
        }
        return padded(parts.tm_year + 1900, 4) + padded(parts.tm_mon + 1, 2) + padded(parts.tm_mday, 2) + "T"
            + padded(parts.tm_hour, 2) + padded(parts.tm_min, 2) + padded(parts.tm_sec, 2) + "Z"
    }
}

extension AIModelAsset {
    /// The tool that wrote the asset, as `metadata.json` says.
    package var producer: String? {
        guard
            case .string(let name)? = (try? MetadataFile(at: url.appendingPathComponent("metadata.json")))?.root[
                "producer"]
        else { return nil }
        return name
    }
}
