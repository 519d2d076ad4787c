import CoreAIGraph
import Foundation

/// The dictionary at the start of a `.npy` file.
struct NumpyHeader {
    var dtype: ScalarType
    var shape: [Int]
    var isFortranOrder = false
    var isBigEndian = false

    static let magic: [UInt8] = [0x93] + Array("NUMPY".utf8)

    /// NumPy's own limit.
    static let maximumRank = 64

    static let names: [(type: ScalarType, code: String)] = [
        (.bool, "b1"), (.int8, "i1"), (.int16, "i2"), (.int32, "i4"), (.int64, "i8"), (.uint8, "u1"), (.uint16, "u2"),
        (.uint32, "u4"), (.uint64, "u8"), (.float16, "f2"), (.float32, "f4"), (.float64, "f8"), (.cfloat32, "c8"),
        (.cfloat64, "c16"),
    ]

    /// The array's bytes, or nil if a size is negative or the sizes, zeros counted as ones, are more than an `Int` can tell.
    static func byteCount(_ dtype: ScalarType, _ shape: [Int]) -> Int? {
        var extent = dtype.byteStride
        for size in shape {
            guard size >= 0 else { return nil }
            let (product, overflow) = extent.multipliedReportingOverflow(by: max(size, 1))
            guard !overflow else { return nil }
            extent = product
        }
        return shape.contains(0) ? 0 : extent
    }

    init(dtype: ScalarType, shape: [Int]) {
        self.dtype = dtype
        self.shape = shape
    }

    /// - Returns: the header and the offset of the elements, which end the file.
    static func parse(_ file: Data) throws(NumpyError) -> (header: NumpyHeader, offset: Int) {
        let start = file.startIndex
        guard file.count >= 10, file.starts(with: magic) else {
            throw NumpyError("expected an .npy file, which starts with \\x93NUMPY, found \(file.count) bytes of something else")
        }
        let version = file[start + 6]
        guard (1...3).contains(version) else {
            throw NumpyError("expected .npy format 1 to 3, found \(version).\(file[start + 7])")
        }
        let prefix = version == 1 ? 10 : 12
        guard file.count >= prefix else { throw NumpyError("expected a header length of 4 bytes, found the end of the file") }
        let length = (8..<prefix).reversed().reduce(0) { $0 << 8 | Int(file[start + $1]) }
        guard length <= file.count - prefix else {
            throw NumpyError("expected a header of \(length) bytes, found \(file.count - prefix) in the file")
        }
        // A header takes well under a kilobyte; beyond, the text is only good for a message.
        let header = try NumpyHeader(parsing: Array(file.dropFirst(prefix).prefix(min(length, 1 << 16)))[...])
        guard let byteCount = byteCount(header.dtype, header.shape) else {
            throw NumpyError("expected a shape of fewer than 2^63 bytes, found \(header.dtype.name) \(header.shape)")
        }
        guard file.count - prefix - length == byteCount else {
            throw NumpyError(
                "expected \(byteCount) bytes for \(header.dtype.name) \(header.shape), found \(file.count - prefix - length)")
        }
        return (header, prefix + length)
    }

    /// - Parameter text: the dictionary as a Python literal.
    init(parsing text: ArraySlice<UInt8>) throws(NumpyError) {
        var scanner = Scanner(rest: text)
        var descr: String?
        var order: Bool?
        var sizes: [Int]?
        try scanner.expect("{")
        while !scanner.accept("}") {
            let key = try scanner.string()
            try scanner.expect(":")
            switch key {
            case "descr" where descr == nil: descr = try scanner.string()
            case "fortran_order" where order == nil: order = try scanner.boolean()
            case "shape" where sizes == nil: sizes = try scanner.tuple()
            default: throw NumpyError("expected each of 'descr', 'fortran_order' and 'shape' once, found '\(key)'")
            }
            if !scanner.accept(",") {
                try scanner.expect("}")
                break
            }
        }
        guard let descr, let order, let sizes else {
            throw NumpyError("expected 'descr', 'fortran_order' and 'shape' in the header, found one of them missing")
        }
        let mark = descr.first.map { "<>|=".contains($0) } == true ? descr.first : nil
        let code = mark == nil ? descr : String(descr.dropFirst())
        guard let name = Self.names.first(where: { $0.code == code }) else {
            throw NumpyError(
                "expected an element type of \(Self.names.map(\.code).joined(separator: ", ")), found '\(descr)'; convert the array with astype first")
        }
        dtype = name.type
        shape = sizes
        isFortranOrder = order
        isBigEndian = mark == ">"
    }

    /// Magic, version, length and dictionary, padded so that elements start at a multiple of 64 bytes; nil for what no file
    /// can hold.
    var encoded: [UInt8]? {
        guard let code = Self.names.first(where: { $0.type == dtype })?.code, shape.count <= Self.maximumRank else { return nil }
        let mark = dtype.byteStride == 1 ? "|" : "<"
        let sizes = shape.map(String.init).joined(separator: ", ") + (shape.count == 1 ? "," : "")
        var text = Array("{'descr': '\(mark)\(code)', 'fortran_order': False, 'shape': (\(sizes)), }".utf8)
        let prefix = 10
        let padding = 63 - (prefix + text.count) % 64
        text += [UInt8](repeating: UInt8(ascii: " "), count: padding)
        text.append(UInt8(ascii: "\n"))
        // Ranks up to the maximum fit version 1's two length bytes.
        return Self.magic + [1, 0, UInt8(text.count & 0xff), UInt8(text.count >> 8)] + text
    }
}

/// Reads the few Python literals a header is made of.
private struct Scanner {
    var rest: ArraySlice<UInt8>

    mutating func accept(_ character: Unicode.Scalar) -> Bool {
        while let next = rest.first, [0x20, 0x09, 0x0a, 0x0d].contains(next) { rest.removeFirst() }
        guard let next = rest.first, UInt32(next) == character.value else { return false }
        rest.removeFirst()
        return true
    }

    mutating func expect(_ character: Unicode.Scalar) throws(NumpyError) {
        guard accept(character) else {
            throw NumpyError("expected '\(Character(character))' in the header, found \(found)")
        }
    }

    private var found: String {
        rest.isEmpty ? "its end" : "'\(String(decoding: rest.prefix(16), as: UTF8.self))'"
    }

    mutating func string() throws(NumpyError) -> String {
        let quote: UInt8 = accept("\"") ? 0x22 : 0x27
        if quote == 0x27 { try expect("'") }
        guard let end = rest.firstIndex(of: quote) else {
            throw NumpyError("expected a quoted string in the header, found \(found)")
        }
        let text = rest[rest.startIndex..<end]
        rest = rest[(end + 1)...]
        return String(decoding: text.prefix(64), as: UTF8.self)
    }

    mutating func boolean() throws(NumpyError) -> Bool {
        _ = accept(" ")
        for (word, value) in [("True", true), ("False", false)] where rest.starts(with: word.utf8) {
            rest = rest.dropFirst(word.utf8.count)
            return value
        }
        throw NumpyError("expected True or False for 'fortran_order', found \(found)")
    }

    mutating func tuple() throws(NumpyError) -> [Int] {
        try expect("(")
        var sizes: [Int] = []
        while !accept(")") {
            let digits = rest.prefix { (0x30...0x39).contains($0) }
            guard let size = Int(String(decoding: digits, as: UTF8.self)) else {
                throw NumpyError("expected a size in 'shape', found \(found)")
            }
            rest = rest.dropFirst(digits.count)
            // Python 2 wrote long integers with a suffix.
            _ = accept("L")
            sizes.append(size)
            guard sizes.count <= NumpyHeader.maximumRank else {
                throw NumpyError("expected at most \(NumpyHeader.maximumRank) sizes in 'shape', found more")
            }
            if !accept(",") {
                try expect(")")
                break
            }
        }
        return sizes
    }
}
