import CoreAIRuntime
import Testing

@Suite struct ArrayTests {
    @Test(arguments: NDArray.ScalarType.allCases)
    func newArraysAreZeroAndAligned(scalarType: NDArray.ScalarType) {
        let array = NDArray(shape: [3, 5], scalarType: scalarType)
        #expect(array.shape == [3, 5])
        let view = array.rawView()
        view.withUnsafeBytes { start, _, _ in
            #expect(UInt(bitPattern: start) % 64 == 0)
        }
        let bytes = view.bytes
        #expect(bytes.byteCount >= 15 * scalarType.bitWidth / 8)
        for offset in 0..<bytes.byteCount { #expect(bytes.unsafeLoad(fromByteOffset: offset, as: UInt8.self) == 0) }
    }

    @Test func largeArraysBeginOnAPage() {
        let array = NDArray(shape: [1 << 18], scalarType: .float32)
        array.rawView().withUnsafeBytes { start, _, _ in #expect(UInt(bitPattern: start) % 4096 == 0) }
        #expect(sum(array) == 0)
    }

    @Test func stridesAreRowMajorInElements() {
        #expect(NDArray(shape: [2, 3, 4], scalarType: .float64).strides == [12, 4, 1])
        #expect(NDArray(shape: [], scalarType: .float64).strides == [])
        #expect(NDArray(shape: [2, 0, 4], scalarType: .float64).strides == [4, 4, 1])
    }

    @Test func rankZeroIsOneScalar() {
        var array = NDArray(shape: [], scalarType: .float32)
        do {
            var view = array.mutableView(as: Float.self)
            view[scalarAt: []] = 7
        }
        #expect(elements(array) == [7])
        #expect(NDArray(scalars: [Float(3)], shape: []).view(as: Float.self)[scalarAt: []] == 3)
    }

    @Test func zeroSizeHasNoElements() {
        let array = NDArray(shape: [2, 0], scalarType: .float32)
        #expect(contiguousCount(array.view(as: Float.self)) == 0)
        let byteCount = array.rawView().bytes.byteCount
        #expect(byteCount == 0)
        #expect(NDArray(scalars: [Float](), shape: [0]).shape == [0])
    }

    @Test func scalarsChooseTheirType() {
        #expect(NDArray(scalars: [1, 2], shape: [2]).scalarType == .int64)
        #expect(NDArray(scalars: [UInt(1)], shape: [1]).scalarType == .uint64)
        #expect(NDArray(scalars: [true, false], shape: [2]).scalarType == .bool)
        #expect(NDArray(scalars: [Float16(1)], shape: [1]).scalarType == .float16)
        #expect(NDArray(scalars: [Int128(1)], shape: [1]).scalarType == .int128)
        #expect(NDArray(scalars: (0..<6).lazy.map { Double($0) }, shape: [2, 3]).scalarType == .float64)
    }

    @Test func scalarsMustFillTheShape() async {
        await #expect(processExitsWith: .failure) { _ = NDArray(scalars: [1, 2, 3] as [Int32], shape: [2]) }
        await #expect(processExitsWith: .failure) { _ = NDArray(scalars: [1] as [Int32], shape: [2]) }
    }

    @Test func viewAsASameSizedTypeMovesBits() {
        let array = NDArray(shape: [2], scalarType: .bfloat16)
        #expect(contiguousCount(array.view(as: Float16.self)) == 2)
        let bits = array.view(as: UInt16.self)[scalarAt: [1]]
        #expect(bits == 0)
    }

    @Test func viewAsAnotherSizeTraps() async {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            _ = NDArray(shape: [2], scalarType: .float16).view(as: Float.self).rank
        }
        let text = String(decoding: result?.standardErrorContent ?? [], as: UTF8.self)
        #expect(text.contains("a view as Float (4 bytes) of an array of float16"))
        await #expect(processExitsWith: .failure) {
            _ = NDArray(shape: [2], scalarType: .int4).view(as: UInt8.self).rank
        }
    }

    // MARK: Copy on write

    @Test func uniquelyHeldArrayIsNotCopied() {
        var array = NDArray(scalars: [1, 2] as [Float], shape: [2])
        let before = address(array)
        let view = array.view(as: Float.self)  // retains the memory, not the array
        array.mutableRawView().withUnsafeMutableBytes { start, _, _ in
            #expect(UInt(bitPattern: start) == before)
            start.storeBytes(of: 5, as: Float.self)
        }
        #expect(view[scalarAt: [0]] == 5)
    }

    @Test func sharedArrayIsCopiedBeforeAWrite() {
        let original = NDArray(scalars: [1, 2] as [Float], shape: [2])
        var copy = original
        do {
            var view = copy.mutableView(as: Float.self)
            view[scalarAt: [0]] = 9
        }
        #expect(elements(original) == [1, 2])
        #expect(elements(copy) == [9, 2])
    }

    @Test func viewOutlivesItsArray() {
        func makeView() -> [Float] {
            var array: NDArray? = NDArray(scalars: [1, 2, 3] as [Float], shape: [3])
            let view = array!.view(as: Float.self)
            array = nil
            var values: [Float] = []
            for i in 0..<3 { values.append(view[scalarAt: [i]]) }
            return values
        }
        #expect(makeView() == [1, 2, 3])
    }

    @Test func spanStaysValidToTheEndOfItsArraysScope() {
        func makeSum() -> Float {
            let array = NDArray(scalars: [1, 2, 3] as [Float], shape: [3])
            guard let elements = array.view(as: Float.self).contiguousElements else { return 0 }
            // Takes over the memory, should the array be gone by now.
            let others = (0..<16).map { _ in floats([-1, -1, -1]) }
            var sum: Float = 0
            for i in elements.indices { sum += elements[i] }
            return sum + Float(others.count)
        }
        #expect(makeSum() == 22)
    }

    @Test func foreignMemoryIsUsedAndReleasedOnce() {
        final class Count: @unchecked Sendable { var value = 0 }
        let count = Count()
        let bytes = UnsafeMutableRawBufferPointer.allocate(byteCount: 16, alignment: 64)
        bytes.storeBytes(of: 4, toByteOffset: 4, as: Float.self)
        do {
            let array = NDArray(unsafeBytesNoCopy: bytes, scalarType: .float32, shape: [4]) { start, _ in
                start.deallocate()
                count.value += 1
            }
            #expect(address(array) == UInt(bitPattern: bytes.baseAddress))
            #expect(array.view(as: Float.self)[scalarAt: [1]] == 4)
        }
        #expect(count.value == 1)
    }

    // MARK: Layouts

    @Test func paddedRowsAreNotContiguous() {
        var array = NDArray(shape: [2, 3], scalarType: .float32, strides: [4, 1])
        do {
            var view = array.mutableView(as: Float.self)
            view.copyElements(from: [1, 2, 3, 4, 5, 6])
        }
        let view = array.view(as: Float.self)
        #expect(contiguousCount(view) == nil)
        #expect(view[scalarAt: [1, 0]] == 4)
        array.rawView().withUnsafeBytes { start, _, _ in
            #expect(start.load(fromByteOffset: 16, as: Float.self) == 4)
        }
        let byteCount = array.rawView().bytes.byteCount
        #expect(byteCount == 7 * 4)
    }

    @Test func stridesOfSingleElementsDoNotMatter() {
        let array = NDArray(shape: [1, 3], scalarType: .float32, strides: [64, 1])
        #expect(contiguousCount(array.view(as: Float.self)) == 3)
    }

    @Test func interleavedOffsetsFollowTheFormula() {
        // 6 channels in blocks of 4, two rows of 3.
        let layout = NDArray.InterleaveLayout(dimension: 0, factor: 4)
        var array = NDArray(shape: [6, 2, 3], scalarType: .int32, strides: [24, 12, 4], interleaveLayout: layout)
        do {
            var view = array.mutableView(as: Int32.self)
            view.copyElements(from: (0..<36).map { Int32($0) })
        }
        #expect(contiguousCount(array.view(as: Int32.self)) == nil)
        array.view(as: Int32.self).withUnsafePointer { start, shape, strides in
            for c in 0..<shape[0] {
                for y in 0..<shape[1] {
                    for x in 0..<shape[2] {
                        let offset = c / 4 * strides[0] + c % 4 + y * strides[1] + x * strides[2]
                        #expect(start[offset] == Int32((c * 2 + y) * 3 + x))
                    }
                }
            }
        }
    }

    @Test func copyElementsMayBeShorterButNotLonger() async {
        var array = NDArray(scalars: [1, 2, 3] as [Float], shape: [3])
        do {
            var view = array.mutableView(as: Float.self)
            view.copyElements(fromContentsOf: [8, 9])
        }
        #expect(elements(array) == [8, 9, 3])
        await #expect(processExitsWith: .failure) {
            var array = NDArray(shape: [3], scalarType: .float32)
            var view = array.mutableView(as: Float.self)
            view.copyElements(from: [1, 2, 3, 4])
        }
    }
}

func elements(_ array: NDArray) -> [Float] {
    var values: [Float] = []
    let span = array.view(as: Float.self).contiguousElements!
    for i in span.indices { values.append(span[i]) }
    return values
}

/// Nil if the view has no contiguous elements.
func contiguousCount<T>(_ view: borrowing NDArray.View<T>) -> Int? {
    let count = view.contiguousElements?.count
    let isContiguous = view.isContiguous
    #expect((count != nil) == isContiguous)
    return count
}

func sum(_ array: NDArray) -> Float { elements(array).reduce(0, +) }

func address(_ array: NDArray) -> UInt {
    array.rawView().withUnsafeBytes { start, _, _ in UInt(bitPattern: start) }
}
