/// The strings of a file. Text is made when asked for, once.
final class StringTable {
    private let bounds: [Int]
    private let data: Cursor
    private let budget: Budget
    private var texts: [Int: String] = [:]

    var count: Int { bounds.count - 1 }

    /// - Parameter section: a count, the lengths (terminating zero included) from the last string to the first, and the
    ///   bytes from the first to the last.
    init(_ section: Cursor, _ budget: Budget) throws(ReadError) {
        self.budget = budget
        var cursor = section
        let count = try cursor.count("strings")
        try budget.charge(24, count, at: cursor)
        var lengths: [Int] = []
        lengths.reserveCapacity(count)
        for _ in 0..<count { lengths.append(try cursor.count("bytes of a string")) }
        var rest = cursor
        data = cursor
        var bounds = [cursor.position]
        bounds.reserveCapacity(count + 1)
        for length in lengths.reversed() {
            guard length > 0 else { throw rest.fault("expected a string with a terminating zero, found no bytes") }
            _ = try rest.part(length, "a string")
            bounds.append(rest.position)
        }
        self.bounds = bounds
    }

    subscript(index: Int) -> String {
        get throws(ReadError) {
            if let text = texts[index] { return text }
            guard index >= 0, index < count else {
                throw data.fault("expected the number of a string below \(count), found \(index)")
            }
            var cursor = data
            _ = try cursor.part(bounds[index] - data.position, "strings")
            // Bytes that are not UTF-8 become three bytes each.
            try budget.charge(64 + 3 * (bounds[index + 1] - bounds[index]), at: cursor)
            let text = try cursor.text(bounds[index + 1] - bounds[index] - 1, "string \(index)")
            texts[index] = text
            return text
        }
    }
}
