import CoreAIGraph

/// Types and attributes of one file, decoded when asked for and kept.
///
/// Attributes that nothing asks for are never looked at, so an unknown form of, say, a debug location cannot prevent
/// a program from loading.
final class Decoder {
    let container: Container
    let fields: FieldReader
    private var storedTypes: [Int: StoredType] = [:]
    private var storedAttributes: [Int: StoredAttribute] = [:]
    private var valueTypes: [Int: ValueType] = [:]
    private var values: [Int: Expanded?] = [:]
    /// Splats whose stored form differs from an element.
    var splats: [Int: Bytes] = [:]
    private var locations: [Int: SourceLocation?] = [:]

    static let depthLimit = 64
    /// How many attributes one attribute may hold, those of shared parts counted each time.
    static let expansionLimit = 1 << 20

    private struct Expanded {
        var attribute: Attribute
        var size: Int
    }

    init(_ container: Container) {
        self.container = container
        fields = FieldReader(
            strings: container.strings, attributeCount: container.attributes.count,
            typeCount: container.types.count, budget: container.budget)
    }

    func storedAttribute(_ index: Int) throws(ReadError) -> StoredAttribute {
        if let known = storedAttributes[index] { return known }
        var cursor = try container.attributes.cursor(index, "an attribute")
        try container.budget.charge(160, at: cursor)
        let attribute = try StoredAttribute(&cursor, fields)
        storedAttributes[index] = attribute
        return attribute
    }

    func storedType(_ index: Int) throws(ReadError) -> StoredType {
        if let known = storedTypes[index] { return known }
        var cursor = try container.types.cursor(index, "a type")
        try container.budget.charge(160, at: cursor)
        let type = try StoredType(&cursor, fields)
        storedTypes[index] = type
        return type
    }

    func fault(type index: Int, _ text: String) -> ReadError {
        guard let cursor = try? container.types.cursor(index, "a type") else { return container.program.fault(text) }
        return cursor.fault(text)
    }

    func fault(attribute index: Int, _ text: String) -> ReadError {
        guard let cursor = try? container.attributes.cursor(index, "an attribute") else {
            return container.program.fault(text)
        }
        return cursor.fault(text)
    }
}

// MARK: Types of values

extension Decoder {
    func valueType(_ index: Int, depth: Int = 0) throws(ReadError) -> ValueType {
        if let known = valueTypes[index] { return known }
        guard depth < Self.depthLimit else {
            throw fault(type: index, "expected types nested at most \(Self.depthLimit) deep, found more")
        }
        let type: ValueType
        switch try storedType(index) {
        case .tensor(let sizes, let element, let encoding):
            type = try tensor(sizes, element: element, encoding: encoding, index)
        case .handle(let inner): type = .handle(try valueType(inner, depth: depth + 1))
        case .token: type = .token
        case .image(let fourCC, let height, let width):
            guard case .record(27, let code) = try storedAttribute(fourCC), case .number(let value)? = code.first,
                let pixelFormat = UInt32(exactly: value)
            else { throw fault(attribute: fourCC, "expected a 32-bit pixel format (attribute code 27), found another attribute") }
            type = .image(ImageType(pixelFormat: pixelFormat, height: height, width: width))
        case .scalar(let scalar): throw fault(type: index, "expected the type of a value, found the bare scalar \(scalar.name)")
        case .function: throw fault(type: index, "expected the type of a value, found a function type")
        case .other(let name): throw fault(type: index, "expected the type of a value, found \(name)")
        }
        valueTypes[index] = type
        return type
    }

    private func tensor(_ sizes: [Int], element: Int, encoding: Int?, _ index: Int) throws(ReadError) -> ValueType {
        let scalar: ScalarType
        switch try storedType(element) {
        case .scalar(let found): scalar = found
        case .other(let name): throw fault(type: index, "expected an element type that this runtime computes with, found \(name)")
        default: throw fault(type: index, "expected a scalar as the element type, found a compound type")
        }
        var bytes = scalar.byteStride
        var shape: [Dimension] = []
        for size in sizes {
            guard size != StoredType.dynamicSize else {
                shape.append(.unknown)
                continue
            }
            guard size >= 0 else { throw fault(type: index, "expected sizes of 0 or more, found \(size)") }
            shape.append(Dimension(size))
            guard size > 0 else { continue }
            let (product, overflow) = bytes.multipliedReportingOverflow(by: size)
            guard !overflow else {
                throw fault(type: index, "expected a tensor of fewer than 2^63 bytes, found sizes \(sizes) of \(scalar.name)")
            }
            bytes = product
        }
        var type = TensorType(scalar, shape)
        guard let encoding else { return .tensor(type) }
        let (layout, sparse) = try tensorEncoding(encoding)
        type.layout = layout
        if let layout, layout.alignments.count != type.rank + 1 || layout.interleave.count != type.rank {
            throw fault(
                attribute: encoding,
                "expected \(type.rank + 1) alignments and \(type.rank) interleave factors for a tensor of rank \(type.rank), "
                    + "found \(layout.alignments.count) and \(layout.interleave.count)")
        }
        return sparse.map { .sparse(type, $0) } ?? .tensor(type)
    }

    /// What an encoding says; hardware constraints may lie over one other encoding.
    private func tensorEncoding(_ index: Int, isBase: Bool = false) throws(ReadError) -> (LayoutConstraint?, SparseEncoding?) {
        switch try storedAttribute(index) {
        case .sparse(let scheme, let positionWidth, let coordinateWidth, let storedCount, let blockSize):
            guard let scheme = SparseEncoding.Scheme(rawValue: scheme) else {
                throw fault(attribute: index, "expected a sparse scheme from 0 to 4, found \(scheme)")
            }
            return (
                nil,
                SparseEncoding(
                    scheme: scheme, positionWidth: positionWidth, coordinateWidth: coordinateWidth,
                    storedCount: storedCount, blockSize: blockSize)
            )
        case .record(let code, let values) where code == 12 || code == 13:
            guard values.count == (code == 12 ? 3 : 4), case .signedNumbers(let alignments) = values[0],
                case .signedNumbers(let interleave) = values[1], case .number(let number) = values[2],
                let backing = Int(exactly: number)
            else { break }
            let layout = LayoutConstraint(alignments: alignments, interleave: interleave, backing: backing)
            guard code == 13, case .attribute(let base) = values[3] else { return (layout, nil) }
            guard !isBase else { break }
            return (layout, try tensorEncoding(base, isBase: true).1)
        default: break
        }
        throw fault(attribute: index, "expected a sparse encoding or hardware constraints of a tensor, found another attribute")
    }
}

// MARK: Attributes as values

extension Decoder {
    /// The attribute as a value of the graph.
    func value(_ index: Int) throws(ReadError) -> Attribute { try expanded(index, depth: 0).attribute }

    private func expanded(_ index: Int, depth: Int) throws(ReadError) -> Expanded {
        if let known = values[index] {
            guard let known else { throw fault(attribute: index, "expected an attribute that does not hold itself, found a cycle") }
            return known
        }
        guard depth < Self.depthLimit else {
            throw fault(attribute: index, "expected attributes nested at most \(Self.depthLimit) deep, found more")
        }
        values[index] = .some(nil)
        var size = 1
        let attribute = try convert(try storedAttribute(index), index) { child throws(ReadError) in
            let part = try self.expanded(child, depth: depth + 1)
            size += part.size
            guard size <= Self.expansionLimit else {
                throw self.fault(attribute: index, "expected an attribute with at most \(Self.expansionLimit) parts, found more")
            }
            return part.attribute
        }
        let result = Expanded(attribute: attribute, size: size)
        values[index] = result
        return result
    }

    private typealias Child = (Int) throws(ReadError) -> Attribute

    private func convert(_ stored: StoredAttribute, _ index: Int, _ child: Child) throws(ReadError) -> Attribute {
        switch stored {
        case .integer(let width, let isUnsigned, let pattern):
            // A boolean is one bit, signed or not.
            if width == 1 { return .bool(pattern != 0) }
            if isUnsigned || width >= 64 { return .integer(Int(truncatingIfNeeded: pattern)) }
            let shift = 64 - width
            return .integer(Int(truncatingIfNeeded: Int64(bitPattern: pattern << shift) >> Int64(shift)))
        case .float(let width, let pattern):
            return .float(try float(width, pattern, index))
        case .dense(let isSplat, let bytes):
            return .elements(Constant(bytes, packing: isSplat ? .splat : .elements))
        case .sparse(let scheme, let positionWidth, let coordinateWidth, let storedCount, let blockSize):
            return .dictionary([
                NamedAttribute("scheme", .integer(scheme)), NamedAttribute("position_width", .integer(positionWidth)),
                NamedAttribute("coordinate_width", .integer(coordinateWidth)),
                NamedAttribute("stored_count", storedCount.map { .integer($0) } ?? .unit),
                NamedAttribute("block_size", .array(blockSize.map { .integer($0) })),
            ])
        case .record(let code, let values):
            return try record(code, values, index, child)
        }
    }

    private func record(
        _ code: UInt64, _ values: [FieldValue], _ index: Int, _ child: Child
    ) throws(ReadError) -> Attribute {
        guard let layout = StoredAttribute.records[code] else {
            throw fault(attribute: index, "expected a known attribute code, found \(code)")
        }
        switch (code, values.first) {
        case (25, .number(let value)?):
            // Writers store small signless integers under this code; as a combiner it is only read by `word`.
            return .integer(Int(truncatingIfNeeded: value))
        case (_, .number(let value)?) where !layout.words.isEmpty:
            return .word(try word(layout, value, index))
        case (7, .number(let resource)?):
            guard let resource = Int(exactly: resource) else { break }
            return .elements(Constant(try container.blob(resource)))
        case (5, .attributes(let elements)?):
            return try array(elements, child)
        case (9, .string?):
            return .dictionary([try entry(values, index, child)])
        case (45, .attributes(let elements)?):
            var entries: [NamedAttribute] = []
            for element in elements {
                guard case .dictionary(let parts) = try child(element), parts.count == 1 else {
                    throw fault(attribute: element, "expected a named value in a dictionary, found another attribute")
                }
                entries += parts
            }
            return .dictionary(entries)
        case (14, .strings(let path)?): return .symbol(path)
        case (46, _): return .unit
        case (1, _), (4, _), (16, _), (18, _), (27, _), (33, _), (47, _):
            // One field counts, and stands for the whole.
            if let value = values.first { return try plain(value, child) }
        default: break
        }
        var entries: [NamedAttribute] = []
        for (field, value) in zip(layout.fields, values) {
            entries.append(NamedAttribute(field.name, try plain(value, child)))
        }
        return .dictionary(entries)
    }

    private func plain(_ value: FieldValue, _ child: Child) throws(ReadError) -> Attribute {
        switch value {
        case .string(let text): .string(text)
        case .strings(let texts): .array(texts.map { .string($0) })
        case .attribute(let index): try child(index)
        case .attributes(let indices): try array(indices, child)
        case .type(let index): try typeAttribute(index)
        case .types(let indices): .integer(indices.count)
        case .number(let number): .integer(Int(truncatingIfNeeded: number))
        case .signedNumber(let number): .integer(number)
        case .numbers(let numbers): .array(numbers.map { .integer(Int(truncatingIfNeeded: $0)) })
        case .signedNumbers(let numbers): .array(numbers.map { .integer($0) })
        }
    }

    private func array(_ indices: [Int], _ child: Child) throws(ReadError) -> Attribute {
        try container.budget.charge(32 + MemoryLayout<Attribute>.stride * indices.count, at: container.program)
        var elements: [Attribute] = []
        elements.reserveCapacity(indices.count)
        for index in indices { elements.append(try child(index)) }
        return .array(elements)
    }

    /// A named value with one parameter is that parameter; with several, their array; with none, a unit.
    private func entry(_ values: [FieldValue], _ index: Int, _ child: Child) throws(ReadError) -> NamedAttribute {
        guard values.count == 2, case .string(let name) = values[0], case .attributes(let parameters) = values[1] else {
            throw fault(attribute: index, "expected a named value (attribute code 9), found another attribute")
        }
        switch parameters.count {
        case 0: return NamedAttribute(name, .unit)
        case 1: return NamedAttribute(name, try child(parameters[0]))
        default: return NamedAttribute(name, try array(parameters, child))
        }
    }

    /// Scalar types become tensors of rank 0, types that no value has become their name.
    private func typeAttribute(_ index: Int) throws(ReadError) -> Attribute {
        switch try storedType(index) {
        case .scalar(let scalar): .type(.tensor(TensorType(scalar, [])))
        case .function: .string("function")
        case .other(let name): .string(name)
        default: .type(try valueType(index))
        }
    }

    private func float(_ width: UInt64, _ pattern: UInt64, _ index: Int) throws(ReadError) -> Double {
        switch width {
        case 16: return Double(Float(halfBitPattern: UInt16(truncatingIfNeeded: pattern)))
        case 32: return Double(Float(bitPattern: UInt32(truncatingIfNeeded: pattern)))
        case 64: return Double(bitPattern: pattern)
        default: throw fault(attribute: index, "expected a float of 16, 32 or 64 bits, found \(width) bits")
        }
    }

    private func word(_ layout: StoredAttribute.Record, _ value: UInt64, _ index: Int) throws(ReadError) -> String {
        guard value < UInt64(layout.words.count) else {
            throw fault(
                attribute: index,
                "expected a \(layout.name) below \(layout.words.count) (\(layout.words.joined(separator: ", "))), found \(value)")
        }
        return layout.words[Int(value)]
    }

    /// The word of an attribute that must have the given code.
    func word(_ index: Int, code: UInt64) throws(ReadError) -> String {
        guard let layout = StoredAttribute.records[code], case .record(code, let values) = try storedAttribute(index),
            case .number(let value)? = values.first
        else { throw fault(attribute: index, "expected attribute code \(code), found another attribute") }
        return try word(layout, value, index)
    }
}

extension Float {
    /// The value of an IEEE half.
    fileprivate init(halfBitPattern bits: UInt16) {
        let sign: Float = bits & 0x8000 == 0 ? 1 : -1
        let exponent = Int(bits >> 10 & 0x1f)
        let fraction = Float(bits & 0x3ff)
        switch exponent {
        case 0: self = sign * fraction * 0x1p-24
        case 31: self = fraction == 0 ? sign * .infinity : .nan
        default: self = sign * (1 + fraction / 1024) * Float(sign: .plus, exponent: exponent - 15, significand: 1)
        }
    }
}

// MARK: Debug locations

extension Decoder {
    /// Where in the author's source a location attribute points; nil for any form without a file and a line.
    func location(_ index: Int) -> SourceLocation? {
        if let known = locations[index] { return known }
        let location = try? readLocation(index)
        locations[index] = .some(location)
        return location
    }

    private func readLocation(_ index: Int) throws(ReadError) -> SourceLocation? {
        guard case .record(let code, let values) = try storedAttribute(index), code == 40 || code == 41,
            case .attribute(let source)? = values.first,
            case .record(31, let place) = try storedAttribute(source), place.count == 5,
            case .attribute(let file) = place[0], case .number(let line) = place[1], case .number(let column) = place[2],
            case .record(30, let parts) = try storedAttribute(file), case .string(let name)? = parts.first,
            let line = Int(exactly: line), line > 0, let column = Int(exactly: column)
        else { return nil }
        return SourceLocation(file: name, line: line, column: column)
    }
}
