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

    /// The smallest box around both.
    func joined(with other: Box) -> Box {
        Box(
            left: min(left, other.left), top: min(top, other.top), right: max(right, other.right),
            bottom: max(bottom, other.bottom))
    }
}
