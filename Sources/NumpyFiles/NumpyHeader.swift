import CoreAIGraph
import Foundation

/// The header of an `.npy` file, formats 1 to 3.
struct NumpyHeader {
    var dtype: ScalarType
    var isBigEndian: Bool
    var isFortranOrder: Bool
    var shape: [Int]

    static let magic = Data([0x93] + Array("NUMPY".utf8))

    private static let types: [String: ScalarType] = [
        "b1": .bool, "i1": .int8, "i2": .int16, "i4": .int32, "i8": .int64, "u1": .uint8, "u2": .uint16, "u4": .uint32,
        "u8": .uint64, "f2": .float16, "f4": .float32, "f8": .float64, "c8": .cfloat32, "c16": .cfloat64,
    ]

    /// - Returns: the header and the offset of the data.
    static func parse(_ file: Data) throws(NumpyError) -> (header: NumpyHeader, offset: Int) {
        guard file.count >= 10, file.prefix(6) == magic else {
            throw NumpyError("expected an .npy file, found other bytes")
        }
        let version = file[file.startIndex + 6]
        guard (1...3).contains(version) else { throw NumpyError("expected .npy format 1 to 3, found \(version)") }
        let lengthSize = version == 1 ? 2 : 4
        guard file.count >= 8 + lengthSize else { throw NumpyError("the header is cut short") }
        var length = 0
        for index in 0..<lengthSize { length |= Int(file[file.startIndex + 8 + index]) << (8 * index) }
        let start = 8 + lengthSize
        guard length <= file.count - start, length < 1 << 20 else {
            throw NumpyError("the header claims \(length) bytes, the file has \(file.count - start) after it")
        }
        let text = String(decoding: file.dropFirst(start).prefix(length), as: UTF8.self)
        return (try parse(text), start + length)
    }

    private static func parse(_ text: String) throws(NumpyError) -> NumpyHeader {
        guard let description = value(of: "descr", in: text), let order = value(of: "fortran_order", in: text),
            let tuple = value(of: "shape", in: text)
        else { throw NumpyError("the header lacks descr, fortran_order or shape: \(text.prefix(120))") }
        let code = description.trimmingCharacters(in: CharacterSet(charactersIn: "'\""))
        let byteOrder = code.first.map { "<>|=".contains($0) } ?? false ? code.first : nil
        let name = byteOrder == nil ? code : String(code.dropFirst())
        guard let dtype = types[name] else {
            throw NumpyError("expected a boolean, integer, float or complex dtype, found \(description)")
        }
        var shape: [Int] = []
        for part in tuple.trimmingCharacters(in: CharacterSet(charactersIn: "()")).split(separator: ",") {
            let digits = part.trimmingCharacters(in: .whitespaces)
            if digits.isEmpty { continue }
            guard let size = Int(digits), size >= 0 else { throw NumpyError("expected a shape, found \(tuple)") }
            shape.append(size)
        }
        return NumpyHeader(
            dtype: dtype, isBigEndian: byteOrder == ">", isFortranOrder: order.hasPrefix("True"), shape: shape)
    }

    /// The text of a value in Python's dictionary notation: up to the comma or brace that ends it.
    private static func value(of key: String, in text: String) -> String? {
        guard let place = text.range(of: "'\(key)'") ?? text.range(of: "\"\(key)\""),
            let colon = text[place.upperBound...].firstIndex(of: ":")
        else { return nil }
        var value = ""
        var depth = 0
        for character in text[text.index(after: colon)...] {
            if character == "(" { depth += 1 }
            if character == ")" { depth -= 1 }
            if depth == 0, character == "," || character == "}" { break }
            value.append(character)
        }
        return value.trimmingCharacters(in: .whitespaces)
    }

    static func text(_ dtype: ScalarType, _ shape: [Int]) -> String? {
        guard let name = types.first(where: { $0.value == dtype })?.key else { return nil }
        let order = dtype.byteStride == 1 ? "|" : "<"
        let sizes = shape.map(String.init).joined(separator: ", ") + (shape.count == 1 ? "," : "")
        return "{'descr': '\(order)\(name)', 'fortran_order': False, 'shape': (\(sizes)), }"
    }
}
