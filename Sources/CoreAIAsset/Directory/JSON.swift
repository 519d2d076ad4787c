import Foundation

/// A JSON value that keeps what a rewrite must not change: the order of keys, and whether a number was an integer.
indirect enum JSON: Hashable, Sendable {
    case null
    case bool(Bool)
    case integer(Int)
    case number(Double)
    case string(String)
    case array([JSON])
    case object([Member])

    struct Member: Hashable, Sendable {
        var key: String
        var value: JSON
    }

    subscript(key: String) -> JSON? {
        get {
            guard case .object(let members) = self else { return nil }
            return members.first { $0.key == key }?.value
        }
        set {
            guard case .object(var members) = self else { return }
            let index = members.firstIndex { $0.key == key }
            switch (index, newValue) {
            case (let index?, let value?): members[index].value = value
            case (let index?, nil): members.remove(at: index)
            case (nil, let value?): members.append(Member(key: key, value: value))
            case (nil, nil): break
            }
            self = .object(members)
        }
    }
}

// MARK: Reading

extension JSON {
    /// - Throws: `ReadError` naming `file` and the offset of the fault.
    init(_ bytes: [UInt8], file: String) throws(ReadError) {
        var parser = Parser(bytes: bytes, file: file)
        self = try parser.document()
    }

    private struct Parser {
        let bytes: [UInt8]
        let file: String
        var position = 0
        static let depthLimit = 64

        init(bytes: [UInt8], file: String) {
            self.bytes = bytes
            self.file = file
        }

        var next: UInt8? { position < bytes.count ? bytes[position] : nil }

        func fault(_ expected: String) -> ReadError {
            let found = next.map { "'\(Character(UnicodeScalar($0)))'" } ?? "the end of the file"
            return ReadError(file: file, offset: position, fault: "expected \(expected), found \(found)")
        }

        mutating func skipSpace() {
            while let byte = next, [0x20, 0x09, 0x0a, 0x0d].contains(byte) { position += 1 }
        }

        mutating func take(_ character: Character) -> Bool {
            skipSpace()
            guard next == character.asciiValue else { return false }
            position += 1
            return true
        }

        mutating func expect(_ character: Character) throws(ReadError) {
            guard take(character) else { throw fault("'\(character)'") }
        }

        mutating func document() throws(ReadError) -> JSON {
            let value = try value(depth: 0)
            skipSpace()
            guard next == nil else { throw fault("the end of the file") }
            return value
        }

        mutating func value(depth: Int) throws(ReadError) -> JSON {
            guard depth < Self.depthLimit else { throw fault("values nested at most \(Self.depthLimit) deep") }
            skipSpace()
            switch next {
            case UInt8(ascii: "{"): return try object(depth)
            case UInt8(ascii: "["): return try array(depth)
            case UInt8(ascii: "\""): return .string(try string())
            default: break
            }
            for (word, value) in [("true", JSON.bool(true)), ("false", .bool(false)), ("null", .null)]
            where bytes[position...].starts(with: word.utf8) {
                position += word.utf8.count
                return value
            }
            return try number()
        }

        mutating func object(_ depth: Int) throws(ReadError) -> JSON {
            try expect("{")
            var members: [Member] = []
            var seen: Set<String> = []
            if take("}") { return .object([]) }
            repeat {
                skipSpace()
                let start = position
                let key = try string()
                guard seen.insert(key).inserted else {
                    throw ReadError(file: file, offset: start, fault: "expected each key once, found \"\(key)\" again")
                }
                try expect(":")
                members.append(Member(key: key, value: try value(depth: depth + 1)))
            } while take(",")
            try expect("}")
            return .object(members)
        }

        mutating func array(_ depth: Int) throws(ReadError) -> JSON {
            try expect("[")
            var elements: [JSON] = []
            if take("]") { return .array([]) }
            repeat { elements.append(try value(depth: depth + 1)) } while take(",")
            try expect("]")
            return .array(elements)
        }

        mutating func number() throws(ReadError) -> JSON {
            let start = position
            while let byte = next, "+-.0123456789eE".utf8.contains(byte) { position += 1 }
            let text = String(decoding: bytes[start..<position], as: UTF8.self)
            if let integer = Int(text), !text.hasPrefix("+") { return .integer(integer) }
            guard let number = Double(text), number.isFinite, !text.hasPrefix("+") else {
                position = start
                throw fault("a JSON value")
            }
            return .number(number)
        }

        mutating func string() throws(ReadError) -> String {
            guard next == UInt8(ascii: "\"") else { throw fault("a string") }
            position += 1
            var text: [UInt16] = []
            var run = position
            func flush(_ end: Int, into text: inout [UInt16]) {
                text += String(decoding: bytes[run..<end], as: UTF8.self).utf16
            }
            while let byte = next {
                if byte == UInt8(ascii: "\"") {
                    flush(position, into: &text)
                    position += 1
                    return String(decoding: text, as: UTF16.self)
                }
                guard byte >= 0x20 else { throw fault("a character of a string") }
                if byte == UInt8(ascii: "\\") {
                    flush(position, into: &text)
                    position += 1
                    text.append(try escape())
                    run = position
                } else {
                    position += 1
                }
            }
            throw fault("the end of a string")
        }

        static let escapes: [UInt8: UInt16] = [
            UInt8(ascii: "\""): 0x22, UInt8(ascii: "\\"): 0x5c, UInt8(ascii: "/"): 0x2f, UInt8(ascii: "b"): 0x08,
            UInt8(ascii: "f"): 0x0c, UInt8(ascii: "n"): 0x0a, UInt8(ascii: "r"): 0x0d, UInt8(ascii: "t"): 0x09,
        ]

        mutating func escape() throws(ReadError) -> UInt16 {
            guard let byte = next else { throw fault("an escape") }
            if let unit = Self.escapes[byte] {
                position += 1
                return unit
            }
            guard byte == UInt8(ascii: "u"), position + 5 <= bytes.count,
                bytes[position + 1..<position + 5].allSatisfy({ UnicodeScalar($0).properties.isASCIIHexDigit }),
                let unit = UInt16(String(decoding: bytes[position + 1..<position + 5], as: UTF8.self), radix: 16)
            else { throw fault("an escape") }
            position += 5
            return unit
        }
    }
}

// MARK: Writing

extension JSON {
    /// The value as text with one member a line.
    func text(indent: Int = 0) -> String {
        let inner = String(repeating: " ", count: indent + 2)
        let outer = String(repeating: " ", count: indent)
        switch self {
        case .null: return "null"
        case .bool(let value): return value ? "true" : "false"
        case .integer(let value): return String(value)
        case .number(let value): return String(value)
        case .string(let value): return Self.quoted(value)
        case .array(let elements) where elements.isEmpty: return "[]"
        case .array(let elements):
            return "[\n" + elements.map { inner + $0.text(indent: indent + 2) }.joined(separator: ",\n") + "\n\(outer)]"
        case .object(let members) where members.isEmpty: return "{}"
        case .object(let members):
            let lines = members.map { "\(inner)\(Self.quoted($0.key)) : \($0.value.text(indent: indent + 2))" }
            return "{\n" + lines.joined(separator: ",\n") + "\n\(outer)}"
        }
    }

    private static func quoted(_ text: String) -> String {
        var result = "\""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\"", "\\": result += "\\\(scalar)"
            case "\n": result += "\\n"
            case "\t": result += "\\t"
            case "\r": result += "\\r"
            case _ where scalar.value < 0x20:
                result += "\\u00" + UInt8(scalar.value).hex
            default: result.unicodeScalars.append(scalar)
            }
        }
        return result + "\""
    }
}
