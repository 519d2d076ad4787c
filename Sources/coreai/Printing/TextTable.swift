/// Rows of cells in columns as wide as their widest cell.
struct TextTable {
    enum Alignment { case left, right }

    private let alignments: [Alignment]
    private var rows: [[String]] = []

    /// - Parameter alignments: one for each column; further columns are left-aligned.
    init(_ alignments: Alignment...) { self.alignments = alignments }

    mutating func add(_ cells: String...) { rows.append(cells) }

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
