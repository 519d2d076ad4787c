/// Rows of cells in columns as wide as their widest cell.
struct TextTable {
    enum Alignment { case left, right }

    private let alignments: [Alignment]
    private var rows: [[String]] = []

    /// - Parameter alignments: one for each column; further columns are left-aligned.
    init(_ alignments: Alignment...) { self.alignments = alignments }

    mutating func add(_ cells: String...) { add(cells) }
    mutating func add(_ cells: [String]) { rows.append(cells.map(\.printable)) }

    /// A table that reads down one group of columns after another, as many as fit 100 characters.
    init(folding pairs: [(count: String, name: String)]) {
        let width = pairs.map { $0.count.count + $0.name.count + 6 }.max() ?? 100
        let groups = max(1, min(100 / width, (pairs.count + 9) / 10))
        let height = (pairs.count + groups - 1) / groups
        alignments = (0..<groups).flatMap { _ in [Alignment.right, .left] }
        rows = (0..<height).map { row in
            stride(from: row, to: pairs.count, by: height).flatMap { [pairs[$0].count, pairs[$0].name.printable] }
        }
    }

    /// The lines, each after `indent` spaces and ended with a line feed.
    func text(indent: Int = 0) -> String {
        let columns = rows.map(\.count).max() ?? 0
        let widths = (0..<columns).map { column in
            rows.compactMap { $0.indices.contains(column) ? $0[column].count : nil }.max() ?? 0
        }
        return rows.map { row in
            var line = String(repeating: " ", count: indent)
            for (column, cell) in row.enumerated() {
                let gap = String(repeating: " ", count: widths[column] - cell.count)
                let isRight = alignments.indices.contains(column) && alignments[column] == .right
                line += (column > 0 ? "  " : "") + (isRight ? gap + cell : cell + gap)
            }
            while line.last == " " { line.removeLast() }
            return line + "\n"
        }.joined()
    }
}

extension String {
    /// Without control characters: names come from files that anybody may have made.
    var printable: String {
        guard unicodeScalars.contains(where: \.isControl) else { return self }
        return String(unicodeScalars.map { $0.isControl ? " " : Character($0) })
    }
}

extension Unicode.Scalar {
    fileprivate var isControl: Bool { properties.generalCategory == .control }
}
