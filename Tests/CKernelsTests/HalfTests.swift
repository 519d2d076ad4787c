import CKernels
import Testing

@Suite struct HalfTests {
    /// Every half there is, in runs of every length modulo the vector's.
    @Test func wideningIsExact() {
        let halves = (0...UInt16.max).map { $0 }
        var singles = [Float](repeating: 0, count: halves.count)
        for start in [0, 1, 7] {
            halves.withUnsafeBufferPointer { source in
                singles.withUnsafeMutableBufferPointer { target in
                    guard let from = source.baseAddress, let to = target.baseAddress else { return }
                    coreai_widen_half(from + start, to + start, halves.count - start)
                }
            }
            for (bits, single) in zip(halves, singles).dropFirst(start) {
                let want = Float(Float16(bitPattern: bits))
                #expect(single == want || (single.isNaN && want.isNaN), "\(bits)")
                #expect(single.sign == want.sign || want.isNaN, "\(bits)")
            }
        }
    }

    @Test func narrowingRoundsToNearestEven() {
        // Every half, the middles between neighbours, and a little to either side of them.
        var singles: [Float] = [.infinity, -.infinity, 65519, 65520, 1e30, -1e30, 1e-30, -1e-30, 0, -0.0]
        for bits in UInt16(0)..<0x7bff {
            let (low, high) = (Float(Float16(bitPattern: bits)), Float(Float16(bitPattern: bits + 1)))
            let middle = (low + high) / 2
            singles += [low, middle, middle.nextUp, -middle.nextDown]
        }
        for start in [0, 3] {
            var halves = [UInt16](repeating: 0, count: singles.count)
            singles.withUnsafeBufferPointer { source in
                halves.withUnsafeMutableBufferPointer { target in
                    guard let from = source.baseAddress, let to = target.baseAddress else { return }
                    coreai_narrow_half(from + start, to + start, singles.count - start)
                }
            }
            for (single, bits) in zip(singles, halves).dropFirst(start) where Float16(single).bitPattern != bits {
                Issue.record("\(single) gave \(bits), expected \(Float16(single).bitPattern)")
                return
            }
        }
        var nan = [Float.nan]
        var half: UInt16 = 0
        coreai_narrow_half(&nan, &half, 1)
        #expect(Float16(bitPattern: half).isNaN)
    }
}
