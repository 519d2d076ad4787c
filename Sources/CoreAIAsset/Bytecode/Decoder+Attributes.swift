import CoreAIGraph

extension Decoder {
    /// The attribute as a value of the graph.
    func value(_ index: Int) throws(ReadError) -> Attribute { try expanded(index, depth: 0).attribute }

    private func expanded(_ index: Int, depth: Int) throws(ReadError) -> Expanded {
        if let known = values[index] {
            guard let known else {
                throw fault(attribute: index, "expected an attribute that does not hold itself, found a cycle")
            }
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
                throw self.fault(
                    attribute: index, "expected an attribute with at most \(Self.expansionLimit) parts, found more")
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
        case .numbers(let numbers): try integers(numbers.map { Int(truncatingIfNeeded: $0) })
        case .signedNumbers(let numbers): try integers(numbers)
        }
    }

    private func integers(_ numbers: [Int]) throws(ReadError) -> Attribute {
        try container.budget.charge(64, numbers.count, at: container.program)
        return .array(numbers.map { .integer($0) })
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
                "expected a \(layout.name) below \(layout.words.count) (\(layout.words.joined(separator: ", "))), found \(value)"
            )
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
