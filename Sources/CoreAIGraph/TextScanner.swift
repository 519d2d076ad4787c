/// Reads tokens of the text form, with the line for error messages. Bytes, since most of the text is ASCII.
struct TextScanner {
    private let bytes: [UInt8]
    private var position = 0

    init(_ text: String) { bytes = Array(text.utf8) }

    func error(_ message: String) -> GraphError {
        let line = bytes[..<min(position, bytes.count)].reduce(1) { $1 == 10 ? $0 + 1 : $0 }
        return GraphError("line \(line): \(message)")
    }

    private mutating func skipSpace() {
        while position < bytes.count, bytes[position] <= 32 { position += 1 }
    }

    private mutating func peek() -> UInt8? {
        skipSpace()
        return position < bytes.count ? bytes[position] : nil
    }

    var isAtEnd: Bool {
        mutating get { peek() == nil }
    }

    func isNext(_ token: String) -> Bool {
        var copy = self
        return copy.take(token)
    }

    /// Takes a punctuation mark or a whole word, if it is next.
    mutating func take(_ token: String) -> Bool {
        skipSpace()
        var end = position
        var last: UInt8 = 0
        for byte in token.utf8 {
            guard end < bytes.count, bytes[end] == byte else { return false }
            end += 1
            last = byte
        }
        if Self.isWordByte(last), end < bytes.count, Self.isWordByte(bytes[end]) { return false }
        position = end
        return true
    }

    mutating func expect(_ token: String) throws(GraphError) {
        guard take(token) else { throw error("expected '\(token)'") }
    }

    private static func isWordByte(_ byte: UInt8) -> Bool {
        (byte | 32 >= 97 && byte | 32 <= 122) || (48...57).contains(byte) || byte == 95 || byte == 46
    }

    mutating func word() throws(GraphError) -> String {
        guard let first = peek(), Self.isWordByte(first) else { throw error("expected a word") }
        let start = position
        while position < bytes.count, Self.isWordByte(bytes[position]) { position += 1 }
        return String(decoding: bytes[start..<position], as: UTF8.self)
    }

    mutating func isNextDigitOrMinus() -> Bool { peek().map { (48...57).contains($0) || $0 == 45 } ?? false }
    mutating func isNextQuote() -> Bool { peek() == 34 }

    mutating func integer() throws(GraphError) -> Int {
        skipSpace()
        let start = position
        if position < bytes.count, bytes[position] == 45 { position += 1 }
        while position < bytes.count, (48...57).contains(bytes[position]) { position += 1 }
        guard let value = Int(String(decoding: bytes[start..<position], as: UTF8.self)) else {
            throw error("expected an integer")
        }
        return value
    }

    /// The text up to `end`, which is taken too.
    mutating func text(upTo end: UInt8) throws(GraphError) -> String {
        skipSpace()
        let start = position
        while position < bytes.count, bytes[position] != end { position += 1 }
        guard position < bytes.count else { throw error("unterminated text") }
        position += 1
        return String(decoding: bytes[start..<position - 1], as: UTF8.self)
    }

    mutating func string() throws(GraphError) -> String {
        try expect("\"")
        var result: [UInt8] = []
        while position < bytes.count {
            let byte = bytes[position]
            position += 1
            if byte == 34 { return String(decoding: result, as: UTF8.self) }
            guard byte == 92 else {
                result.append(byte)
                continue
            }
            guard position < bytes.count else { break }
            let escape = bytes[position]
            position += 1
            switch escape {
            case UInt8(ascii: "n"): result.append(10)
            case UInt8(ascii: "u"):
                try expect("{")
                guard let code = UInt32(try text(upTo: UInt8(ascii: "}")), radix: 16), let scalar = Unicode.Scalar(code)
                else { throw error("bad escape in a string") }
                result += Array(String(Character(scalar)).utf8)
            default: result.append(escape)
            }
        }
        throw error("unterminated string")
    }

    mutating func hexBytes() throws(GraphError) -> [UInt8] {
        guard take0x() else { throw error("expected 0x and hexadecimal digits") }
        func digit(_ byte: UInt8) -> UInt8? {
            switch byte {
            case 48...57: byte - 48
            case 97...102: byte - 87
            default: nil
            }
        }
        var result: [UInt8] = []
        while position + 1 < bytes.count, let high = digit(bytes[position]), let low = digit(bytes[position + 1]) {
            result.append(high << 4 | low)
            position += 2
        }
        return result
    }

    private mutating func take0x() -> Bool {
        skipSpace()
        guard position + 1 < bytes.count, bytes[position] == 48, bytes[position + 1] == 120 else { return false }
        position += 2
        return true
    }
}
