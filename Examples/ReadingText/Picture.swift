import Foundation

/// A grey picture, 0 black to 1 white, with text drawn on it.
struct Picture {
    let width: Int
    let height: Int
    private(set) var pixels: [Float]
    /// Where each line of text was drawn.
    private(set) var lines: [(text: String, box: Box)] = []

    /// A page lit from the upper left.
    init(width: Int, height: Int) {
        self.width = width
        self.height = height
        pixels = (0..<width * height).map { 0.97 - 0.12 * Float($0 % width + $0 / width) / Float(width + height) }
    }

    /// Draws capital letters and digits.
    /// - Parameters:
    ///   - x: the left edge of the first letter in pixels, before it is turned.
    ///   - y: its upper edge.
    ///   - scale: pixels to a dot of the font.
    ///   - degrees: how far the line is turned clockwise about its upper left corner.
    mutating func write(_ text: String, x: Int, y: Int, scale: Int, degrees: Double = 0) {
        let glyphs = text.map(Font.rows(of:))
        let (width, height) = (Double((glyphs.count * (Font.width + 1) - 1) * scale), Double(Font.height * scale))
        let (sine, cosine) = (sin(degrees * .pi / 180), cos(degrees * .pi / 180))
        let corners = [(0, 0), (width, 0), (0, height), (width, height)].map { u, v in
            (x: Double(x) + u * cosine - v * sine, y: Double(y) + u * sine + v * cosine)
        }
        let (xs, ys) = (corners.map(\.x).sorted(), corners.map(\.y).sorted())
        let box = Box(
            left: Int(xs[0].rounded(.down)), top: Int(ys[0].rounded(.down)), right: Int(xs[3].rounded(.up)),
            bottom: Int(ys[3].rounded(.up)))
        lines.append((text, box))

        func isInked(_ px: Double, _ py: Double) -> Bool {
            let (dx, dy) = (px - Double(x), py - Double(y))
            let (u, v) = (dx * cosine + dy * sine, dy * cosine - dx * sine)
            guard u >= 0, u < width, v >= 0, v < height else { return false }
            let column = Int(u) / scale
            let (glyph, dot) = (column / (Font.width + 1), column % (Font.width + 1))
            return dot < Font.width && glyphs[glyph][Int(v) / scale] >> (Font.width - 1 - dot) & 1 == 1
        }
        let ink: Float = 0.12
        for row in max(0, box.top)..<min(self.height, box.bottom) {
            for column in max(0, box.left)..<min(self.width, box.right) {
                // Four samples a pixel smooth the edges of turned letters.
                let inked = [(0.25, 0.25), (0.75, 0.25), (0.25, 0.75), (0.75, 0.75)].count { sx, sy in
                    isInked(Double(column) + sx, Double(row) + sy)
                }
                let place = row * self.width + column
                pixels[place] += (ink - pixels[place]) * Float(inked) / 4
            }
        }
    }

    /// The picture turned clockwise by quarters and scaled to a square, without its list of lines.
    func turned(quarters: Int, side: Int) -> Picture {
        var turned = Picture(width: side, height: side)
        for place in turned.pixels.indices {
            let (x, y) = ((Float(place % side) + 0.5) / Float(side), (Float(place / side) + 0.5) / Float(side))
            let (u, v) = [(x, y), (y, 1 - x), (1 - x, 1 - y), (1 - y, x)][quarters % 4]
            turned.pixels[place] = sample(u * Float(width) - 0.5, v * Float(height) - 0.5)
        }
        return turned
    }

    /// Between the centres of pixels, the mean of the four around by how near they are.
    private func sample(_ x: Float, _ y: Float) -> Float {
        let (x, y) = (max(0, min(x, Float(width - 1))), max(0, min(y, Float(height - 1))))
        let (left, top) = (Int(x), Int(y))
        let (right, bottom) = (min(left + 1, width - 1), min(top + 1, height - 1))
        let (fx, fy) = (x - Float(left), y - Float(top))
        let upper = pixels[top * width + left] * (1 - fx) + pixels[top * width + right] * fx
        let lower = pixels[bottom * width + left] * (1 - fx) + pixels[bottom * width + right] * fx
        return upper * (1 - fy) + lower * fy
    }

    /// Red, green and blue planes as PP-OCR wants them: mean taken away, divided by the deviation.
    var normalized: [Float] {
        zip([0.485, 0.456, 0.406] as [Float], [0.229, 0.224, 0.225] as [Float]).flatMap { mean, deviation in
            pixels.map { ($0 - mean) / deviation }
        }
    }
}
