/// A line of text found in a map of probabilities.
struct TextBox {
    var box: Box
    /// The mean probability inside.
    var score: Float
}

/// The connected regions of a probability map that are text, top to bottom.
///
/// The model marks a shrunken core of each line, so that neighbours do not touch; boxes are grown back by as much as the
/// core's area over its circumference says.
func textBoxes(in map: [Float], width: Int, height: Int, threshold: Float = 0.3) -> [TextBox] {
    var isSeen = [Bool](repeating: false, count: map.count)
    var found: [TextBox] = []
    for start in map.indices where map[start] > threshold && !isSeen[start] {
        var box = Box(left: width, top: height, right: 0, bottom: 0)
        var sum: Float = 0
        var count = 0
        var stack = [start]
        isSeen[start] = true
        while let place = stack.popLast() {
            let (x, y) = (place % width, place / width)
            box = Box(
                left: min(box.left, x), top: min(box.top, y), right: max(box.right, x + 1), bottom: max(box.bottom, y + 1))
            sum += map[place]
            count += 1
            for (dx, dy) in [(-1, 0), (1, 0), (0, -1), (0, 1)] {
                let (nx, ny) = (x + dx, y + dy)
                guard (0..<width).contains(nx), (0..<height).contains(ny) else { continue }
                let next = ny * width + nx
                if !isSeen[next], map[next] > threshold {
                    isSeen[next] = true
                    stack.append(next)
                }
            }
        }
        let score = sum / Float(count)
        guard count >= 16, score > 0.5 else { continue }
        let (w, h) = (box.right - box.left, box.bottom - box.top)
        let growth = 3 * w * h / max(1, 4 * (w + h))
        box = Box(
            left: max(0, box.left - growth), top: max(0, box.top - growth), right: min(width, box.right + growth),
            bottom: min(height, box.bottom + growth))
        found.append(TextBox(box: box, score: score))
    }
    return found.sorted { ($0.box.top, $0.box.left) < ($1.box.top, $1.box.left) }
}
