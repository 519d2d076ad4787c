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
    var valueTypes: [Int: ValueType] = [:]
    var values: [Int: Expanded?] = [:]
    /// Splats whose stored form differs from an element.
    var splats: [Int: Bytes] = [:]
    var locations: [Int: SourceLocation?] = [:]

    static let depthLimit = 64
    /// How many attributes one attribute may hold, those of shared parts counted each time.
    static let expansionLimit = 1 << 20

    struct Expanded {
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
