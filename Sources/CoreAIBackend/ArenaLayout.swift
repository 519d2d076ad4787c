/// Places buffers with known lifetimes in one block of memory, so that buffers that never live together share bytes.
package struct ArenaLayout: Hashable, Sendable {
    package struct Request: Hashable, Sendable {
        package var byteCount: Int
        /// The first and last step at which the buffer holds something.
        package var lifetime: ClosedRange<Int>
        package init(byteCount: Int, lifetime: ClosedRange<Int>) {
            self.byteCount = byteCount
            self.lifetime = lifetime
        }
    }

    package static let alignment = 64

    /// Byte offset of each request, in their order.
    package let offsets: [Int]
    package let byteCount: Int

    /// Largest first, each at the lowest place that is free for its whole life.
    package init(_ requests: [Request]) {
        var offsets = [Int](repeating: 0, count: requests.count)
        var placed: [Int] = []  // ordered by offset
        var total = 0
        let order = requests.indices.sorted {
            (requests[$1].byteCount, $0) < (requests[$0].byteCount, $1)
        }
        for index in order {
            let size = Self.aligned(requests[index].byteCount)
            var offset = 0
            for other in placed where requests[other].lifetime.overlaps(requests[index].lifetime) {
                if offset + size <= offsets[other] { break }
                offset = max(offset, offsets[other] + Self.aligned(requests[other].byteCount))
            }
            offsets[index] = offset
            total = max(total, offset + size)
            let place = placed.firstIndex { offsets[$0] > offset } ?? placed.count
            placed.insert(index, at: place)
        }
        self.offsets = offsets
        byteCount = total
    }

    private static func aligned(_ byteCount: Int) -> Int { (max(byteCount, 1) + alignment - 1) & ~(alignment - 1) }
}
