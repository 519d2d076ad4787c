import CoreAIGraph

/// A file's bytes with the name that errors give it.
final class Source: Sendable {
    let file: String
    let bytes: Bytes
    init(file: String, bytes: Bytes) {
        self.file = file
        self.bytes = bytes
    }
}

/// A position in a range of a file. Every read is checked against the end of the range; positions are file offsets.
struct Cursor {
    private let source: Source
    private let base: UnsafeRawPointer?
    private(set) var position: Int
    let end: Int

    init(_ source: Source) {
        self.source = source
        base = source.bytes.unsafeBaseAddress
        position = 0
        end = source.bytes.count
    }

    /// A cursor over `range`, which the caller took from a cursor over the same file.
    private init(_ other: Cursor, _ range: Range<Int>) {
        source = other.source
        base = other.base
        position = range.lowerBound
        end = range.upperBound
    }

    var remaining: Int { end - position }
    var isAtEnd: Bool { position == end }

    func fault(_ text: String, at offset: Int? = nil) -> ReadError {
        ReadError(file: source.file, offset: offset ?? position, fault: text)
    }

    mutating func byte(_ what: @autoclosure () -> String = "a byte") throws(ReadError) -> UInt8 {
        guard position < end, let base else { throw truncated(1, what()) }
        defer { position += 1 }
        return base.load(fromByteOffset: position, as: UInt8.self)
    }

    mutating func varint(_ what: @autoclosure () -> String = "a number") throws(ReadError) -> UInt64 {
        guard position < end, let base else { throw truncated(1, what()) }
        let first = base.load(fromByteOffset: position, as: UInt8.self)
        if first & 1 == 1 {
            position += 1
            return UInt64(first >> 1)
        }
        let more = first == 0 ? 8 : first.trailingZeroBitCount
        guard remaining > more else { throw truncated(1 + more, what()) }
        var value: UInt64 = 0
        for index in stride(from: more, through: first == 0 ? 1 : 0, by: -1) {
            value = value << 8 | UInt64(base.load(fromByteOffset: position + index, as: UInt8.self))
        }
        position += 1 + more
        return first == 0 ? value : value >> UInt64(more + 1)
    }

    mutating func signedVarint(_ what: @autoclosure () -> String = "a number") throws(ReadError) -> Int {
        let value = try varint(what())
        return Int(bitPattern: UInt(value >> 1)) ^ -Int(value & 1)
    }

    /// A varint whose lowest bit is a flag.
    mutating func flagged(_ what: @autoclosure () -> String = "a number") throws(ReadError) -> (
        value: UInt64, flag: Bool
    ) {
        let value = try varint(what())
        return (value >> 1, value & 1 == 1)
    }

    /// How many of something follow, each taking at least `minimumSize` bytes of this range.
    mutating func count(_ what: @autoclosure () -> String, minimumSize: Int = 1) throws(ReadError) -> Int {
        let start = position
        return try checkedCount(try varint(what()), what(), minimumSize: minimumSize, at: start)
    }

    func checkedCount(
        _ value: UInt64, _ what: @autoclosure () -> String, minimumSize: Int = 1, at offset: Int? = nil
    ) throws(ReadError) -> Int {
        guard value <= UInt64(remaining / minimumSize) else {
            throw fault(
                "expected at most \(remaining / minimumSize) \(what()) in the \(remaining) bytes left, found \(value)",
                at: offset)
        }
        return Int(value)
    }

    /// The number of one of `limit` things.
    mutating func index(below limit: Int, _ what: @autoclosure () -> String) throws(ReadError) -> Int {
        let start = position
        return try checkedIndex(try varint(what()), below: limit, what(), at: start)
    }

    func checkedIndex(
        _ value: UInt64, below limit: Int, _ what: @autoclosure () -> String, at offset: Int? = nil
    ) throws(ReadError) -> Int {
        guard value < UInt64(limit) else {
            throw fault("expected the number of \(what()) below \(limit), found \(value)", at: offset)
        }
        return Int(value)
    }

    /// A number that must fit a nonnegative `Int`.
    mutating func size(_ what: @autoclosure () -> String) throws(ReadError) -> Int {
        let start = position
        let value = try varint(what())
        guard let size = Int(exactly: value) else {
            throw fault("expected \(what()) below 2^63, found \(value)", at: start)
        }
        return size
    }

    /// A cursor over the next `count` bytes, which this one skips.
    mutating func part(_ count: Int, _ what: @autoclosure () -> String) throws(ReadError) -> Cursor {
        guard count >= 0, count <= remaining else { throw truncated(count, what()) }
        defer { position += count }
        return Cursor(self, position..<position + count)
    }

    /// The next `count` bytes, not copied.
    mutating func bytes(_ count: Int, _ what: @autoclosure () -> String) throws(ReadError) -> Bytes {
        let part = try part(count, what())
        guard let slice = source.bytes.slice(part.position..<part.end) else { throw truncated(count, what()) }
        return slice
    }

    /// The next `count` bytes as text; bytes that are not UTF-8 are replaced.
    mutating func text(_ count: Int, _ what: @autoclosure () -> String) throws(ReadError) -> String {
        let slice = try bytes(count, what())
        return slice.withUnsafeBytes { String(decoding: $0, as: UTF8.self) }
    }

    /// Skips padding up to the next file offset that is a multiple of `alignment`.
    mutating func align(to alignment: UInt64, _ what: @autoclosure () -> String) throws(ReadError) {
        guard alignment > 0, alignment <= 1 << 30, alignment & (alignment - 1) == 0 else {
            throw fault("expected a power of two up to 2^30 as the alignment of \(what()), found \(alignment)")
        }
        let padding = -position & (Int(alignment) - 1)
        guard padding <= remaining else { throw truncated(padding, "padding of \(what())") }
        position += padding
    }

    /// Fails unless every byte of the range has been read.
    func expectEnd(of what: @autoclosure () -> String) throws(ReadError) {
        guard isAtEnd else { throw fault("expected the end of \(what()), found \(remaining) more bytes") }
    }

    private func truncated(_ count: Int, _ what: String) -> ReadError {
        fault("expected \(count) bytes (\(what)), \(remaining) are left before offset \(end)")
    }
}
