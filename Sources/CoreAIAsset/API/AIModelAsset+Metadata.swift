public import Foundation

extension AIModelAsset {
    /// What an asset's author says about it.
    public struct Metadata: Sendable {
        /// "" when absent.
        public var author: String
        /// "" when absent.
        public var license: String
        /// "" when absent.
        public var description: String
        public var creationDate: Date?
        public var creatorDefinedMetadata: [String: CreatorDefinedValue]

        public init() {
            author = ""
            license = ""
            description = ""
            creationDate = nil
            creatorDefinedMetadata = [:]
        }

        // Getting answers nil for a missing key and for a value of another type; setting nil removes the key.

        public subscript(key: String, type: String.Type = String.self) -> String? {
            get { if case .string(let value)? = creatorDefinedMetadata[key] { value } else { nil } }
            set { creatorDefinedMetadata[key] = newValue.map { .string($0) } }
        }

        public subscript(key: String, type: Int.Type = Int.self) -> Int? {
            get { if case .integer(let value)? = creatorDefinedMetadata[key] { value } else { nil } }
            set { creatorDefinedMetadata[key] = newValue.map { .integer($0) } }
        }

        public subscript(key: String, type: Double.Type = Double.self) -> Double? {
            get { if case .number(let value)? = creatorDefinedMetadata[key] { value } else { nil } }
            set { creatorDefinedMetadata[key] = newValue.map { .number($0) } }
        }

        public subscript(key: String, type: Bool.Type = Bool.self) -> Bool? {
            get { if case .bool(let value)? = creatorDefinedMetadata[key] { value } else { nil } }
            set { creatorDefinedMetadata[key] = newValue.map { .bool($0) } }
        }

        public subscript(key: String, type: [CreatorDefinedValue].Type = [CreatorDefinedValue].self)
            -> [CreatorDefinedValue]?
        {
            get { if case .array(let value)? = creatorDefinedMetadata[key] { value } else { nil } }
            set { creatorDefinedMetadata[key] = newValue.map { .array($0) } }
        }

        public subscript(key: String, type: [String: CreatorDefinedValue].Type = [String: CreatorDefinedValue].self)
            -> [String: CreatorDefinedValue]?
        {
            get { if case .dictionary(let value)? = creatorDefinedMetadata[key] { value } else { nil } }
            set { creatorDefinedMetadata[key] = newValue.map { .dictionary($0) } }
        }

        /// A value that a creator attached under a key of its own.
        public enum CreatorDefinedValue: Hashable, Sendable {
            case string(String)
            case integer(Int)
            case number(Double)
            case bool(Bool)
            case array([CreatorDefinedValue])
            case dictionary([String: CreatorDefinedValue])

            public init(_ value: String) { self = .string(value) }
            public init(_ value: Int) { self = .integer(value) }
            public init(_ value: Double) { self = .number(value) }
            public init(_ value: Bool) { self = .bool(value) }
            public init(_ value: [CreatorDefinedValue]) { self = .array(value) }
            public init(_ value: [String: CreatorDefinedValue]) { self = .dictionary(value) }
        }
    }
}

extension AIModelAsset.Metadata.CreatorDefinedValue: CustomStringConvertible {
    /// The value as text, dictionaries sorted by key.
    public var description: String {
        switch self {
        case .string(let value): value
        case .integer(let value): "\(value)"
        case .number(let value): "\(value)"
        case .bool(let value): "\(value)"
        case .array(let values): "[" + values.map(\.description).joined(separator: ", ") + "]"
        case .dictionary(let values) where values.isEmpty: "[:]"
        case .dictionary(let values):
            "[" + values.sorted { $0.key < $1.key }.map { "\($0.key): \($0.value)" }.joined(separator: ", ") + "]"
        }
    }
}

extension AIModelAsset.Metadata.CreatorDefinedValue: ExpressibleByStringLiteral, ExpressibleByIntegerLiteral,
    ExpressibleByFloatLiteral, ExpressibleByBooleanLiteral, ExpressibleByArrayLiteral, ExpressibleByDictionaryLiteral
{
    public init(stringLiteral value: String) { self = .string(value) }
    public init(integerLiteral value: Int) { self = .integer(value) }
    public init(floatLiteral value: Double) { self = .number(value) }
    public init(booleanLiteral value: Bool) { self = .bool(value) }
    public init(arrayLiteral elements: Self...) { self = .array(elements) }
    /// Of elements with the same key the last one counts.
    public init(dictionaryLiteral elements: (String, Self)...) {
        self = .dictionary(Dictionary(elements, uniquingKeysWith: { $1 }))
    }
}

// MARK: The stored form

extension AIModelAsset.Metadata {
    init(_ file: MetadataFile) throws(ReadError) {
        author = try file.text("author")
        license = try file.text("license")
        description = try file.text("description")
        creationDate = if case .string(let text)? = file.root["creationDate"] { AssetDate.date(text) } else { nil }
        creatorDefinedMetadata = [:]
        for member in try file.members("creatorDefinedMetadata") {
            guard let value = CreatorDefinedValue(member.value) else {
                throw file.fault("expected no null in creatorDefinedMetadata, found one under \"\(member.key)\"")
            }
            creatorDefinedMetadata[member.key] = value
        }
    }

    /// Writes what differs from `old` into the file's members.
    func store(in file: inout MetadataFile, replacing old: Self) throws(ReadError) {
        for (key, path) in [("author", \Self.author), ("license", \.license), ("description", \.description)]
        where self[keyPath: path] != old[keyPath: path] {
            file.set(key, self[keyPath: path].isEmpty ? nil : .string(self[keyPath: path]))
        }
        if creationDate != old.creationDate {
            let text = creationDate.map { AssetDate.text($0) }
            if case .some(nil) = text {
                throw file.fault("expected a creation date in the years 0 to 9999, found another")
            }
            file.set("creationDate", text?.map { .string($0) })
        }
        try storeCreatorDefined(in: &file, replacing: old)
    }

    private func storeCreatorDefined(in file: inout MetadataFile, replacing old: Self) throws(ReadError) {
        guard creatorDefinedMetadata != old.creatorDefinedMetadata else { return }
        var members: [JSON.Member] = []
        for (key, value) in creatorDefinedMetadata.sorted(by: { $0.key < $1.key }) {
            guard let json = value.json else {
                throw file.fault("expected finite numbers in creatorDefinedMetadata, found \(value) under \"\(key)\"")
            }
            members.append(JSON.Member(key: key, value: json))
        }
        file.set("creatorDefinedMetadata", members.isEmpty ? nil : .object(members))
    }
}

extension AIModelAsset.Metadata.CreatorDefinedValue {
    /// Nil for a value that is or holds a null.
    init?(_ json: JSON) {
        switch json {
        case .null: return nil
        case .bool(let value): self = .bool(value)
        case .integer(let value): self = .integer(value)
        case .number(let value): self = .number(value)
        case .string(let value): self = .string(value)
        case .array(let elements):
            let values = elements.compactMap(Self.init)
            guard values.count == elements.count else { return nil }
            self = .array(values)
        case .object(let members):
            var values: [String: Self] = [:]
            for member in members {
                guard let value = Self(member.value) else { return nil }
                values[member.key] = value
            }
            self = .dictionary(values)
        }
    }

    /// Nil for a value that is or holds a number without a JSON form.
    var json: JSON? {
        switch self {
        case .string(let value): return .string(value)
        case .integer(let value): return .integer(value)
        case .number(let value): return value.isFinite ? .number(value) : nil
        case .bool(let value): return .bool(value)
        case .array(let values):
            let elements = values.compactMap(\.json)
            return elements.count == values.count ? .array(elements) : nil
        case .dictionary(let values):
            let members = values.sorted { $0.key < $1.key }.compactMap { entry in
                entry.value.json.map { JSON.Member(key: entry.key, value: $0) }
            }
            return members.count == values.count ? .object(members) : nil
        }
    }
}
