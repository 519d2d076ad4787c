import Foundation

/// A seeded generator of damage.
struct Random {
    private var state: UInt64
    init(seed: UInt64) { state = seed &* 0x2545_f491_4f6c_dd1d &+ 0x9e37_79b9_7f4a_7c15 }

    mutating func next() -> UInt64 {
        state &+= 0x9e37_79b9_7f4a_7c15
        var z = state
        z = (z ^ (z >> 30)) &* 0xbf58_476d_1ce4_e5b9
        z = (z ^ (z >> 27)) &* 0x94d0_49bb_1331_11eb
        return z ^ (z >> 31)
    }

    mutating func below(_ bound: Int) -> Int { Int(next() % UInt64(max(1, bound))) }

    mutating func damage(_ data: inout Data) {
        switch below(10) {
        case 0: data = data.prefix(below(data.count))
        case 1: data.removeSubrange(range(in: data, atMost: 64))
        case 2:
            data.insert(
                contentsOf: (0..<below(32)).map { _ in UInt8(truncatingIfNeeded: next()) }, at: below(data.count))
        case 3:
            for index in range(in: data, atMost: 32) { data[index] = 0xff }
        case 4:
            let from = range(in: data, atMost: 64)
            let part = Data(data[from])
            data.replaceSubrange(from, with: part.reversed())
        case 5, 6: replaceNumber(&data)
        default:
            // Small programs sit at both ends of a file, large constants in the middle: aim at the ends.
            for _ in 0...below(6) {
                let span = min(data.count, 4096)
                let index = below(2) == 0 ? below(span) : data.count - 1 - below(span)
                data[index] = below(3) == 0 ? [0, 1, 0x7f, 0x80, 0xff][below(5)] : UInt8(truncatingIfNeeded: next())
            }
        }
    }

    /// Puts a hostile number in the place of a small one: a stride, a size, an axis.
    private mutating func replaceNumber(_ data: inout Data) {
        let width = below(2) == 0 ? 4 : 8
        let span = min(data.count, 16_384)
        for _ in 0..<200 {
            let index = (below(2) == 0 ? below(span) : data.count - 1 - below(span)) & ~3
            guard index >= 0, index + width <= data.count, data[index] <= 64,
                data[index + 1..<index + width].allSatisfy({ $0 == 0 })
            else { continue }
            let number: Int64 = [
                0, 1, 2, 3, 7, -1, 100, 1 << 16, 1 << 20, (1 << 31) - 1, 1 << 31, 1 << 32, 1 << 40, .max, .min,
            ][below(15)]
            for byte in 0..<width { data[index + byte] = UInt8(truncatingIfNeeded: number >> (8 * Int64(byte))) }
            return
        }
    }

    private mutating func range(in data: Data, atMost limit: Int) -> Range<Int> {
        let start = below(data.count)
        return start..<min(data.count, start + 1 + below(limit))
    }
}
