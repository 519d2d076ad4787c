/// Sixteen bytes that are moved whole: a `cfloat64` or a 128-bit integer.
package struct SixteenBytes: BitwiseCopyable {
    var low: UInt64
    var high: UInt64
}

/// One side of a strided copy: where its first element lies, and how many elements apart neighbours along each axis are.
/// Strides may be 0 (repeat) or negative (backwards).
package struct StridedSide {
    package var base: UnsafeMutableRawPointer
    package var strides: [Int]

    package init(_ base: UnsafeMutableRawPointer, _ strides: [Int]) {
        self.base = base
        self.strides = strides
    }

    package init(_ tensor: HostTensor) {
        self.init(tensor.base, tensor.strides)
    }

    /// The side that begins `elements` further on.
    package func advanced(by elements: Int, byteStride: Int) -> StridedSide {
        StridedSide(base + elements * byteStride, strides)
    }
}

/// Copies the elements of a box of the given shape.
///
/// The caller has made sure that every element of the box lies in both sides' memory, and that the sides do not overlap.
package func copyElements(
    _ shape: [Int], byteStride: Int, from source: StridedSide, to target: StridedSide
) {
    guard !shape.contains(0) else { return }
    let loop = CopyLoop(shape, source.strides, target.strides)
    switch byteStride {
    case 1: loop.run(UInt8.self, source.base, target.base)
    case 2: loop.run(UInt16.self, source.base, target.base)
    case 4: loop.run(UInt32.self, source.base, target.base)
    case 8: loop.run(UInt64.self, source.base, target.base)
    default: loop.run(SixteenBytes.self, source.base, target.base)
    }
}

/// Sets all elements of `target` to the one at `value`.
package func fillElements(_ target: HostTensor, with value: UnsafeMutableRawPointer) {
    copyElements(
        [target.count], byteStride: target.scalar.byteStride, from: StridedSide(value, [0]),
        to: StridedSide(target.base, [1]))
}

/// Copies a dense tensor's elements in order into one of as many bytes.
package func copyAll(_ source: HostTensor, to target: HostTensor) throws(KernelError) {
    guard source.byteCount == target.byteCount else {
        throw KernelError("\(source.shape) has \(source.count) elements, the result \(target.shape) \(target.count)")
    }
    if source.byteCount > 0 { target.base.copyMemory(from: source.base, byteCount: source.byteCount) }
}

/// A box of elements with as few axes as describe it: axes of size 1 are dropped, and neighbours that one stride covers
/// in both sides are merged.
private struct CopyLoop {
    var shape: [Int] = []
    var sourceStrides: [Int] = []
    var targetStrides: [Int] = []

    init(_ sizes: [Int], _ source: [Int], _ target: [Int]) {
        for axis in sizes.indices where sizes[axis] != 1 {
            if let outerSource = sourceStrides.last, let outerTarget = targetStrides.last,
                outerSource == source[axis] * sizes[axis], outerTarget == target[axis] * sizes[axis]
            {
                shape[shape.count - 1] *= sizes[axis]
                sourceStrides[shape.count - 1] = source[axis]
                targetStrides[shape.count - 1] = target[axis]
            } else {
                shape.append(sizes[axis])
                sourceStrides.append(source[axis])
                targetStrides.append(target[axis])
            }
        }
        if shape.isEmpty { (shape, sourceStrides, targetStrides) = ([1], [1], [1]) }
    }

    func run<T: BitwiseCopyable>(
        _: T.Type, _ sourceBase: UnsafeMutableRawPointer, _ targetBase: UnsafeMutableRawPointer
    ) {
        let source = sourceBase.assumingMemoryBound(to: T.self)
        let target = targetBase.assumingMemoryBound(to: T.self)
        let inner = shape.count - 1
        let count = shape[inner]
        let (sourceStep, targetStep) = (sourceStrides[inner], targetStrides[inner])
        forEachOffset(Array(shape[..<inner]), sourceStrides, targetStrides) { from, to in
            let s = source + from
            let t = target + to
            if sourceStep == 1, targetStep == 1 {
                UnsafeMutableRawPointer(t).copyMemory(from: s, byteCount: count * MemoryLayout<T>.stride)
            } else if targetStep == 1 {
                for i in 0..<count { t[i] = s[i &* sourceStep] }
            } else {
                for i in 0..<count { t[i &* targetStep] = s[i &* sourceStep] }
            }
        }
    }
}

/// Calls `body` for each position of `shape` in row-major order with its offset under two sets of strides.
@inline(__always)
package func forEachOffset<E: Error>(
    _ shape: [Int], _ firstStrides: [Int], _ secondStrides: [Int], _ body: (Int, Int) throws(E) -> Void
) throws(E) {
    guard !shape.contains(0) else { return }
    var position = [Int](repeating: 0, count: shape.count)
    var (first, second) = (0, 0)
    while true {
        try body(first, second)
        var axis = shape.count - 1
        while axis >= 0 {
            position[axis] += 1
            first += firstStrides[axis]
            second += secondStrides[axis]
            if position[axis] < shape[axis] { break }
            first -= shape[axis] * firstStrides[axis]
            second -= shape[axis] * secondStrides[axis]
            position[axis] = 0
            axis -= 1
        }
        if axis < 0 { return }
    }
}

/// Row-major strides of a dense tensor, in elements.
package func denseStrides(_ shape: [Int]) -> [Int] {
    var strides = [Int](repeating: 1, count: shape.count)
    for axis in stride(from: shape.count - 2, through: 0, by: -1) {
        strides[axis] = strides[axis + 1] * shape[axis + 1]
    }
    return strides
}
