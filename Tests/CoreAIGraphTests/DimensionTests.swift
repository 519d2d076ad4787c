import CoreAIGraph
import Testing

@Suite struct DimensionTests {
    let s = Dimension.symbol(0)
    let t = Dimension.symbol(1)

    @Test func equalPolynomialsCompareEqualHoweverTheyAreWritten() {
        #expect(s + s + s == s * 3)
        #expect((s + 1) * (s - 1) == s * s - 1)
        #expect(s * t == t * s)
        #expect(s - s == 0)
    }

    @Test func divisionIsExactWhereItCanBe() {
        #expect((s * 64).floorDivided(by: 64) == s)
        #expect((s * t * 6).floorDivided(by: s * 3) == t * 2)
        #expect((s * 2 + 1).floorDivided(by: 2).evaluated([5]) == 5)
        #expect(Dimension(-7).floorDivided(by: 2) == -4)
        #expect(Dimension(7).modulo(-2) == -1)
        #expect(s.floorDivided(by: 0).isUnknown || s.floorDivided(by: 0).evaluated([1]) == nil)
    }

    @Test func boundsOfSizesAreKnownToBeNonnegative() {
        #expect(Dimension.maximum(0, s) == s)
        #expect(Dimension.minimum(s, s + 3) == s)
        #expect(Dimension.maximum(s - 2, 0).evaluated([1]) == 0)
        #expect(Dimension.minimum(s, 10).evaluated([12]) == 10)
    }

    @Test func overflowIsUnknownNotATrap() {
        #expect((Dimension(.max) + 1).isUnknown)
        #expect((Dimension(.max) * 2).isUnknown)
        #expect((s * Dimension(.max)).evaluated([3]) == nil)
        #expect(Dimension.unknown + 1 == .unknown)
    }

    /// Seeded random expressions: whatever algebra does to them, their value is that of plain arithmetic.
    @Test(arguments: 0..<200) func algebraKeepsValues(seed: Int) {
        var random = SplitMix(seed: UInt64(seed))
        let values = [random.next(below: 9) + 1, random.next(below: 9) + 1]
        func build(_ depth: Int) -> (Dimension, Int) {
            guard depth > 0 else {
                let pick = random.next(below: 3)
                if pick < 2 { return (.symbol(pick), values[pick]) }
                let number = random.next(below: 7) + 1
                return (Dimension(number), number)
            }
            let (a, x) = build(depth - 1)
            let (b, y) = build(depth - 1)
            switch random.next(below: 6) {
            case 0: return (a + b, x + y)
            case 1: return (a * b, x * y)
            case 2: return (.maximum(a, b), max(x, y))
            case 3: return (.minimum(a, b), min(x, y))
            case 4 where y != 0: return (a.floorDivided(by: b), Int((Double(x) / Double(y)).rounded(.down)))
            default: return (a - b, x - y)
            }
        }
        let (size, value) = build(3)
        guard !size.isUnknown, abs(value) < 1 << 40 else { return }
        #expect(size.evaluated(values) == value, "seed \(seed): \(size) of \(values)")
    }
}

/// A small seeded generator, so that a failure can be run again.
struct SplitMix {
    private var state: UInt64
    init(seed: UInt64) { state = seed }
    mutating func next(below bound: Int) -> Int {
        state &+= 0x9e37_79b9_7f4a_7c15
        var z = state
        z = (z ^ (z >> 30)) &* 0xbf58_476d_1ce4_e5b9
        z = (z ^ (z >> 27)) &* 0x94d0_49bb_1331_11eb
        return Int((z ^ (z >> 31)) % UInt64(bound))
    }
}
