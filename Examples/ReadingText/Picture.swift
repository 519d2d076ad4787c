/// A grey picture, 0 black to 1 white, with text drawn on it.
struct Picture {
    let width: Int
    let height: Int
    var pixels: [Float]
    /// Where each line of text was drawn.
    private(set) var lines: [(text: String, box: Box)] = []

    init(width: Int, height: Int) {
        self.width = width
        self.height = height
        // A page lit from the upper left.
        pixels = (0..<width * height).map { 0.97 - 0.12 * Float($0 % width + $0 / width) / Float(width + height) }
    }

    /// Draws capital letters and digits, `scale` pixels to a dot of the font, with smoothed edges.
    mutating func write(_ text: String, x: Int, y: Int, scale: Int, ink: Float = 0.12) {
        var left = x
        for character in text {
            let rows = Font.rows(of: character)
            for (row, bits) in rows.enumerated() {
                for column in 0..<Font.width where bits >> (Font.width - 1 - column) & 1 == 1 {
                    fill(left + column * scale, y + row * scale, scale, ink)
                }
            }
            left += (Font.width + 1) * scale
        }
        lines.append((text, Box(left: x, top: y, right: left - scale, bottom: y + Font.height * scale)))
    }

    private mutating func fill(_ x: Int, _ y: Int, _ size: Int, _ ink: Float) {
        for row in max(0, y)..<min(height, y + size) {
            for column in max(0, x)..<min(width, x + size) { pixels[row * width + column] = ink }
        }
    }

    /// Red, green and blue planes as PP-OCR wants them: mean taken away, divided by the deviation.
    var normalized: [Float] {
        zip([0.485, 0.456, 0.406] as [Float], [0.229, 0.224, 0.225] as [Float]).flatMap { mean, deviation in
            pixels.map { ($0 - mean) / deviation }
        }
    }

    /// The picture in characters, boxes drawn over it. A character is `step` pixels wide and twice as high.
    func drawing(boxes: [Box], step: Int) -> String {
        let shades = Array(" .:*##")
        var rows: [[Character]] = stride(from: 0, to: height, by: 2 * step).map { top in
            stride(from: 0, to: width, by: step).map { left in
                var inked = 0
                for y in top..<min(height, top + 2 * step) {
                    for x in left..<min(width, left + step) where pixels[y * width + x] < 0.5 { inked += 1 }
                }
                return shades[min(shades.count - 1, inked * shades.count / (2 * step * step))]
            }
        }
        for box in boxes { outline(box, step, &rows) }
        let edge = "+" + String(repeating: "-", count: rows.first?.count ?? 0) + "+"
        return ([edge] + rows.map { "|" + String($0) + "|" } + [edge]).joined(separator: "\n")
    }

    private func outline(_ box: Box, _ step: Int, _ rows: inout [[Character]]) {
        let (left, right) = (box.left / step, box.right / step)
        let (top, bottom) = (box.top / (2 * step), box.bottom / (2 * step))
        func put(_ character: Character, _ row: Int, _ column: Int) {
            if rows.indices.contains(row), rows[row].indices.contains(column) { rows[row][column] = character }
        }
        for column in left...max(left, right) {
            put("-", top, column)
            put("-", bottom, column)
        }
        for row in top...max(top, bottom) {
            put("|", row, left)
            put("|", row, right)
        }
        for (row, column) in [(top, left), (top, right), (bottom, left), (bottom, right)] { put("+", row, column) }
    }
}

/// Pixels from `left` to before `right` and from `top` to before `bottom`.
struct Box {
    var left, top, right, bottom: Int
    var area: Int { max(0, right - left) * max(0, bottom - top) }

    /// The part both boxes share; of no area if there is none.
    func shared(with other: Box) -> Box {
        Box(
            left: max(left, other.left), top: max(top, other.top), right: min(right, other.right),
            bottom: min(bottom, other.bottom))
    }

    func joined(with other: Box) -> Box {
        Box(
            left: min(left, other.left), top: min(top, other.top), right: max(right, other.right),
            bottom: max(bottom, other.bottom))
    }
}
