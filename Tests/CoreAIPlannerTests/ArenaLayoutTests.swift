import CoreAIBackend
import Testing

@Suite struct ArenaLayoutTests {
    /// Buffers that live at the same time share no byte; every buffer is aligned and inside the block.
    @Test(arguments: 0..<100) func buffersThatLiveTogetherDoNotOverlap(seed: Int) {
        var state = UInt64(seed) &* 0x9e37_79b9_7f4a_7c15 | 1
        func next(_ bound: Int) -> Int {
            state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            return Int((state >> 33) % UInt64(bound))
        }
        let requests = (0..<40).map { _ in
            let first = next(30)
            return ArenaLayout.Request(byteCount: next(5) == 0 ? 0 : next(5000), lifetime: first...first + next(8))
        }
        let layout = ArenaLayout(requests)
        for (i, a) in requests.enumerated() {
            #expect(layout.offsets[i] % ArenaLayout.alignment == 0)
            #expect(layout.offsets[i] + a.byteCount <= layout.byteCount)
            for (j, b) in requests.enumerated() where i < j && a.lifetime.overlaps(b.lifetime) {
                let (p, q) = (layout.offsets[i], layout.offsets[j])
                #expect(p + a.byteCount <= q || q + b.byteCount <= p, "seed \(seed): \(i) and \(j)")
            }
        }
    }

    @Test func aChainNeedsTwoBuffers() {
        let requests = (0..<100).map { ArenaLayout.Request(byteCount: 4096, lifetime: $0...$0 + 1) }
        #expect(ArenaLayout(requests).byteCount == 2 * 4096)
    }
}
