import CoreAIRuntime
import Foundation
import IOSurface
import Metal
import Testing

@Suite struct SliceTests {
    let array = NDArray(scalars: (0..<24).map { Float($0) }, shape: [2, 3, 4])

    @Test func everyKindOfRange() {
        let view = array.view(as: Float.self)
        #expect(values(view.slice(at: [1, 0..<2, .all])) == [12, 13, 14, 15, 16, 17, 18, 19])
        #expect(values(view.slice(at: [0, 1...2, 3])) == [7, 11])
        #expect(values(view.slice(at: [0, ..<1, 2...])) == [2, 3])
        #expect(values(view.slice(at: [1..., 2, ...0])) == [20])
        #expect(values(view.slice(at: [1])) == (12..<24).map { Float($0) })
        #expect(values(view.slice(at: [.all, 0, 0])) == [0, 12])
    }

    @Test func listOfRangesChosenAtRunTime() {
        let ranges: [any NDArray.RangeExpression] = [0..<1, 1]
        #expect(values(array.view(as: Float.self).slice(at: ranges)) == [4, 5, 6, 7])
    }

    @Test func sliceKeepsTheRank() {
        let slice = array.view(as: Float.self).slice(at: [1, 2])
        #expect(slice.rank == 3)
        #expect(slice.shape[0] == 1 && slice.shape[1] == 1 && slice.shape[2] == 4)
        #expect(contiguousCount(slice) == 4)
        #expect(contiguousCount(array.view(as: Float.self).slice(at: [.all, 0])) == nil)
    }

    @Test func sliceOfASlice() {
        let slice = array.view(as: Float.self).slice(at: [1]).slice(at: [0, 1...2, 1..<3])
        #expect(values(slice) == [17, 18, 21, 22])
    }

    @Test func emptySlice() {
        let slice = array.view(as: Float.self).slice(at: [2..<2])
        #expect(contiguousCount(slice) == 0)
    }

    @Test func outOfBoundsTraps() async {
        await #expect(processExitsWith: .failure) {
            _ = NDArray(shape: [2], scalarType: .float32).view(as: Float.self).slice(at: [0..<3]).rank
        }
        await #expect(processExitsWith: .failure) {
            _ = NDArray(shape: [2], scalarType: .float32).view(as: Float.self).slice(at: [3...]).rank
        }
        await #expect(processExitsWith: .failure) {
            _ = NDArray(shape: [2], scalarType: .float32).view(as: Float.self)[scalarAt: [2]]
        }
    }

    @Test func mutableSlicesWriteInPlace() {
        var array = array
        do {
            var view = array.mutableView(as: Float.self)
            do {
                var row = view.mutatingSlice(at: [0, 0])
                row.copyElements(from: [-1, -2, -3, -4])
            }
            view[scalarAt: [0, 1, 0]] = 100
        }
        do {
            var column = array.mutableView(as: Float.self).slice(at: [1, .all, 3])
            column.copyElements(from: [-5, -6, -7])
        }
        let expected: [Float] = [
            -1, -2, -3, -4, 100, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, -5, 16, 17, 18, -6, 20, 21, 22, -7,
        ]
        #expect(elements(array) == expected)
        #expect(elements(self.array) == (0..<24).map { Float($0) })
    }

    @Test func rawSlicesCountElements() {
        let slice = array.rawView().slice(at: [1, 1...])
        #expect(slice.bytes.byteCount == 8 * 4)
        #expect(slice.bytes.unsafeLoad(as: Float.self) == 16)
        #expect(values(slice.view(as: Float.self)) == (16..<24).map { Float($0) })
    }

    @Test func interleavedDimensionIsCutAtBlocks() async {
        let layout = NDArray.InterleaveLayout(dimension: 0, factor: 2)
        var array = NDArray(shape: [4, 3], scalarType: .float32, strides: [6, 2], interleaveLayout: layout)
        do {
            var view = array.mutableView(as: Float.self)
            view.copyElements(from: (0..<12).map { Float($0) })
        }
        #expect(values(array.view(as: Float.self).slice(at: [2..<4, 1])) == [7, 10])
        await #expect(processExitsWith: .failure) {
            let layout = NDArray.InterleaveLayout(dimension: 0, factor: 2)
            let array = NDArray(shape: [4, 3], scalarType: .float32, strides: [6, 2], interleaveLayout: layout)
            _ = array.view(as: Float.self).slice(at: [1..<3]).rank
        }
    }

    // MARK: Views of other memory

    @Test func viewsOfSpans() {
        let scalars: [Float] = [1, 2, 3, 4]
        let view = NDArray.View(span: scalars.span, shape: [2, 2], strides: [1, 2])
        #expect(values(view) == [1, 3, 2, 4])
        var ids: [Int32] = [0, 0, 0]
        var span = ids.mutableSpan
        do {
            var view = NDArray.MutableView(mutableSpan: span._mutatingExtracting(0..<3), shape: [3])
            view.copyElements(from: [4, 5, 6])
        }
        #expect(span[2] == 6)
        let raw = NDArray.RawView(bytes: scalars.span.bytes, byteOffset: 4, scalarType: .float32, shape: [3])
        #expect(values(raw.view(as: Float.self)) == [2, 3, 4])
    }

    @Test func viewsOfBuffersAndSurfaces() throws {
        let buffer = try #require(MTLCreateSystemDefaultDevice()?.makeBuffer(length: 64, options: .storageModeShared))
        do {
            let raw = NDArray.MutableRawView(metalBuffer: buffer, byteOffset: 8, scalarType: .float32, shape: [2])
            var view = raw.view(as: Float.self)
            view.copyElements(from: [1, 2])
        }
        #expect(buffer.contents().load(fromByteOffset: 12, as: Float.self) == 2)
        let surface = try #require(IOSurface(allocationSize: 4096))
        do {
            let raw = NDArray.MutableRawView(ioSurface: surface, scalarType: .float32, shape: [2])
            var view = raw.view(as: Float.self)
            view.copyElements(from: [3, 4])
        }
        let other = try #require(IOSurface(adopting: dup(surface.fileDescriptor), allocationSize: 4096))
        let shared = NDArray.RawView(ioSurface: other, scalarType: .float32, shape: [2])
        #expect(values(shared.view(as: Float.self)) == [3, 4])
    }

    @Test func viewLargerThanItsMemoryTraps() async {
        await #expect(processExitsWith: .failure) {
            let scalars: [Float] = [1, 2, 3]
            _ = NDArray.View(span: scalars.span, shape: [2, 2]).rank
        }
    }
}

func values(_ view: borrowing NDArray.View<Float>) -> [Float] {
    var values: [Float] = []
    var index = [Int](repeating: 0, count: view.rank)
    let count = (0..<view.rank).reduce(1) { $0 * view.shape[$1] }
    view.withUnsafePointer { start, shape, strides in
        for _ in 0..<count {
            var offset = 0
            for axis in index.indices {
                if let layout = view.interleaveLayout, layout.dimension == axis {
                    offset += index[axis] / layout.factor * strides[axis] + index[axis] % layout.factor
                } else {
                    offset += index[axis] * strides[axis]
                }
            }
            values.append(start[offset])
            for axis in index.indices.reversed() {
                index[axis] += 1
                if index[axis] < shape[axis] { break }
                index[axis] = 0
            }
        }
    }
    return values
}
