/// The text of a message. Strings and objects are shown unless they are marked private: standard error is the
/// developer's own.
public struct OSLogMessage: ExpressibleByStringInterpolation, Sendable {
    let text: String

    public init(stringLiteral value: String) { text = value }
    public init(stringInterpolation: OSLogInterpolation) { text = stringInterpolation.text }
}

public struct OSLogInterpolation: StringInterpolationProtocol {
    var text = ""

    public init(literalCapacity: Int, interpolationCount: Int) { text.reserveCapacity(literalCapacity) }

    public mutating func appendLiteral(_ literal: String) { text += literal }

    public mutating func appendInterpolation<T>(
        _ value: @autoclosure () -> T, align: OSLogStringAlignment = .none, privacy: OSLogPrivacy = .auto
    ) {
        append({ String(describing: value()) }, align, privacy)
    }

    public mutating func appendInterpolation<T: BinaryInteger>(
        _ value: @autoclosure () -> T, format: OSLogIntegerFormatting = .decimal, align: OSLogStringAlignment = .none,
        privacy: OSLogPrivacy = .auto
    ) {
        append({ format.text(value()) }, align, privacy)
    }

    public mutating func appendInterpolation<T: BinaryFloatingPoint>(
        _ value: @autoclosure () -> T, format: OSLogFloatFormatting = .fixed, align: OSLogStringAlignment = .none,
        privacy: OSLogPrivacy = .auto
    ) {
        append({ format.text(Double(value())) }, align, privacy)
    }

    private mutating func append(_ value: () -> String, _ align: OSLogStringAlignment, _ privacy: OSLogPrivacy) {
        text += align.pad(privacy.isPrivate ? "<private>" : value())
    }
}

public struct OSLogPrivacy: Sendable {
    public enum Mask: Sendable { case hash, none }
    let isPrivate: Bool
    public static let auto = OSLogPrivacy(isPrivate: false)
    public static let `public` = OSLogPrivacy(isPrivate: false)
    public static let `private` = OSLogPrivacy(isPrivate: true)
    public static let sensitive = OSLogPrivacy(isPrivate: true)
    public static func auto(mask: Mask) -> OSLogPrivacy { .auto }
    public static func `private`(mask: Mask) -> OSLogPrivacy { .private }
    public static func sensitive(mask: Mask) -> OSLogPrivacy { .sensitive }
}

public struct OSLogStringAlignment: Sendable {
    private let left: Int
    private let right: Int
    public static let none = OSLogStringAlignment(left: 0, right: 0)
    public static func left(columns: Int) -> OSLogStringAlignment { OSLogStringAlignment(left: columns, right: 0) }
    public static func right(columns: Int) -> OSLogStringAlignment { OSLogStringAlignment(left: 0, right: columns) }

    func pad(_ text: String) -> String {
        String(repeating: " ", count: max(right - text.count, 0)) + text
            + String(repeating: " ", count: max(left - text.count, 0))
    }
}

public struct OSLogIntegerFormatting: Sendable {
    private let radix: Int
    private let prefix: String
    private let minDigits: Int
    private let uppercase: Bool
    public static let decimal = OSLogIntegerFormatting(radix: 10, prefix: "", minDigits: 0, uppercase: false)
    public static let hex = OSLogIntegerFormatting(radix: 16, prefix: "", minDigits: 0, uppercase: false)
    public static let octal = OSLogIntegerFormatting(radix: 8, prefix: "", minDigits: 0, uppercase: false)
    public static func decimal(minDigits: Int) -> OSLogIntegerFormatting {
        OSLogIntegerFormatting(radix: 10, prefix: "", minDigits: minDigits, uppercase: false)
    }
    public static func hex(
        explicitPositiveSign: Bool = false, includePrefix: Bool = false, uppercase: Bool = false, minDigits: Int = 0
    ) -> OSLogIntegerFormatting {
        OSLogIntegerFormatting(
            radix: 16, prefix: includePrefix ? "0x" : "", minDigits: minDigits, uppercase: uppercase)
    }

    func text(_ value: some BinaryInteger) -> String {
        let digits = String(value.magnitude, radix: radix, uppercase: uppercase)
        let zeros = String(repeating: "0", count: max(minDigits - digits.count, 0))
        return (value < 0 ? "-" : "") + prefix + zeros + digits
    }
}

public struct OSLogFloatFormatting: Sendable {
    private let precision: Int?
    public static let fixed = OSLogFloatFormatting(precision: nil)
    public static func fixed(precision: Int) -> OSLogFloatFormatting { OSLogFloatFormatting(precision: precision) }

    func text(_ value: Double) -> String { precision.map { decimals(value, $0) } ?? String(describing: value) }
}
