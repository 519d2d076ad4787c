import CoreAIGraph

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
            case .attribute(let file) = place[0], case .number(let line) = place[1],
            case .number(let column) = place[2],
            case .record(30, let parts) = try storedAttribute(file), case .string(let name)? = parts.first,
            let line = Int(exactly: line), line > 0, let column = Int(exactly: column)
        else { return nil }
        return SourceLocation(file: name, line: line, column: column)
    }
}
