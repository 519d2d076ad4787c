import Foundation

// Quantities as a reader wants them: three or four digits and a unit.

extension Double {
    /// Seconds: `830 ns`, `12.3 µs`, `4.56 ms`, `1.20 s`.
    var duration: String {
        let units: [(limit: Double, factor: Double, name: String)] = [
            (1e-6, 1e9, "ns"), (1e-3, 1e6, "µs"), (1, 1e3, "ms"), (.infinity, 1, "s"),
        ]
        // What rounds up to a thousand belongs to the next unit.
        let unit = units.first { self < $0.limit * 0.9995 } ?? (0, 1, "s")
        return "\((self * unit.factor).threeDigits) \(unit.name)"
    }

    /// `0.00123`, `1.23`, `12.3`, `123`
    var threeDigits: String {
        String(format: magnitude < 1 ? "%.3g" : magnitude < 10 ? "%.2f" : magnitude < 100 ? "%.1f" : "%.0f", self)
    }

    /// A number of a tensor: integers without a point, others with up to six digits.
    var brief: String {
        if isNaN { return "NaN" }
        if isInfinite { return self < 0 ? "-inf" : "inf" }
        if self == rounded(), magnitude < 1e15 { return String(Int64(self)) }
        return String(format: "%.6g", self)
    }
}

extension Duration {
    var seconds: Double { Double(components.seconds) + Double(components.attoseconds / 1_000_000_000) / 1e9 }
}

extension Double {
    /// Seconds as milliseconds, to the nanosecond.
    var milliseconds: Double { (self * 1e9).rounded() / 1e6 }
}

extension Int {
    /// Bytes: `512 B`, `34.1 KiB`, `1.20 GiB`.
    var byteSize: String {
        guard self >= 1024 else { return "\(self) B" }
        var value = Double(self) / 1024
        var names = ["KiB", "MiB", "GiB", "TiB"][...]
        while value >= 1024, names.count > 1 {
            value /= 1024
            names.removeFirst()
        }
        return "\(String(format: value < 10 ? "%.2f" : value < 100 ? "%.1f" : "%.0f", value)) \(names.first ?? "")"
    }

    /// `1,234,567`
    var grouped: String {
        var text = ""
        for (index, digit) in String(magnitude).reversed().enumerated() {
            if index > 0, index % 3 == 0 { text.append(",") }
            text.append(digit)
        }
        return (self < 0 ? "-" : "") + String(text.reversed())
    }
}

extension Sequence<String> {
    func list() -> String { joined(separator: ", ") }
}

/// `1 run`, `2 runs`
func counted(_ count: Int, _ noun: String) -> String { "\(count.grouped) \(noun)\(count == 1 ? "" : "s")" }

extension Collection<Double> {
    /// The value below which `fraction` of the values lie, the nearest one; 0 if there are none.
    func percentile(_ fraction: Double) -> Double {
        let ordered = sorted()
        let place = Int((Double(ordered.count) * fraction).rounded(.up)) - 1
        return ordered.isEmpty ? 0 : ordered[Swift.min(Swift.max(place, 0), ordered.count - 1)]
    }
}

/// One line of JSON with its keys sorted.
func jsonText(_ value: some Encodable) throws -> String {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    return String(decoding: try encoder.encode(value), as: UTF8.self)
}

/// Prints and flushes, so that a reader on the other end of a pipe sees it now.
func emit(_ text: String, terminator: String = "\n") {
    print(text, terminator: terminator)
    fflush(nil)
}
