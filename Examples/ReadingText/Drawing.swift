extension Picture {
    /// The picture in `columns` by `rows` characters and a frame, with numbered boxes over it.
    func drawing(boxes: [Box], columns: Int, rows: Int) -> String {
        // By which quarters are inked: 1 upper left, 2 upper right, 4 lower left, 8 lower right.
        let shapes = Array(" '`\".|/P.\\|9_bd#")
        var canvas: [[Character]] = (0..<rows).map { row in
            (0..<columns).map { column in
                let quarters = (0..<4).filter {
                    isDark(column: 2 * column + $0 % 2, of: 2 * columns, row: 2 * row + $0 / 2, of: 2 * rows)
                }
                return shapes[quarters.reduce(0) { $0 | 1 << $1 }]
            }
        }
        for (index, box) in boxes.enumerated() {
            // One character around the box, so that the frame hides nothing inside.
            let left = max(0, box.left * columns / width - 1)
            let right = min(columns - 1, (box.right * columns + width - 1) / width)
            let top = max(0, box.top * rows / height - 1)
            let bottom = min(rows - 1, (box.bottom * rows + height - 1) / height)
            for column in left...right {
                canvas[top][column] = "-"
                canvas[bottom][column] = "-"
            }
            for row in top...bottom {
                canvas[row][left] = "|"
                canvas[row][right] = "|"
            }
            for (row, column) in [(top, left), (top, right), (bottom, left), (bottom, right)] {
                canvas[row][column] = "+"
            }
            for (offset, digit) in "\(index + 1)".enumerated() where left + offset + 1 < right {
                canvas[top][left + offset + 1] = digit
            }
        }
        let edge = "+" + String(repeating: "-", count: columns) + "+"
        return ([edge] + canvas.map { "|" + String($0) + "|" } + [edge]).joined(separator: "\n")
    }

    /// Whether the mean of a cell, when the picture is cut into a grid, is nearer to ink than to paper.
    private func isDark(column: Int, of columns: Int, row: Int, of rows: Int) -> Bool {
        let xs = column * width / columns..<max((column + 1) * width / columns, column * width / columns + 1)
        let ys = row * height / rows..<max((row + 1) * height / rows, row * height / rows + 1)
        let sum = ys.reduce(0 as Float) { sum, y in xs.reduce(sum) { $0 + pixels[y * width + $1] } }
        return sum < 0.52 * Float(xs.count * ys.count)
    }
}
