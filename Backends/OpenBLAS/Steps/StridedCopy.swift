import CKernels
import CoreAIBackend
import CoreAIGraph

/// Moves elements between two tensors walked through with strides: what slices, pads, transposes, concatenations and
/// repetitions come down to. Prepared once for its sizes.
struct StridedCopy: Sendable {
    private enum Inner: Sendable {
        /// Runs of so many bytes.
        case run(Int)
        /// One element, repeated so often.
        case fill(Int)
        /// Planes of rows and columns that change places: the strides between rows of the source and of the target.
        case transpose(rows: Int, columns: Int, source: Int, target: Int)
        case elements(Int, source: Int, target: Int)
    }

    private let stride: Int
    private let inner: Inner
    /// Outer axes: size, and how far source and target step, in bytes.
    private var outer: [(size: Int, source: Int, target: Int)] = []
    private let sourceOffset: Int
    private let targetOffset: Int
    let byteCount: Int

    /// - Parameters:
    ///   - shape: the elements to move.
    ///   - source: strides in the source, in elements; 0 repeats, negative walks backwards.
    ///   - target: strides in the target.
    init(
        elementSize: Int, shape: [Int], source: [Int], target: [Int], sourceOffset: Int = 0, targetOffset: Int = 0
    ) {
        stride = elementSize
        self.sourceOffset = sourceOffset * elementSize
        self.targetOffset = targetOffset * elementSize
        byteCount = shape.reduce(1, *) * elementSize
        // Merge neighbours that both sides walk through alike, innermost last.
        var axes: [(size: Int, source: Int, target: Int)] = []
        for axis in shape.indices where shape[axis] != 1 {
            if let last = axes.last, last.source == source[axis] * shape[axis],
                last.target == target[axis] * shape[axis]
            {
                axes[axes.count - 1] = (last.size * shape[axis], source[axis], target[axis])
            } else {
                axes.append((shape[axis], source[axis], target[axis]))
            }
        }
        guard byteCount > 0, let last = axes.last else {
            inner = .run(byteCount > 0 ? elementSize : 0)
            return
        }
        var taken = axes.count - 1
        if last.source == 1, last.target == 1 {
            inner = .run(last.size * elementSize)
        } else if last.source == 0, last.target == 1 {
            inner = .fill(last.size)
        } else if elementSize == 4, last.target == 1, last.source > 0, last.size < 1 << 30,
            let row = axes.dropLast().lastIndex(where: { $0.source == 1 && $0.target > 0 && $0.size < 1 << 30 })
        {
            // The target's columns are the source's rows.
            let rows = axes[row]
            inner = .transpose(rows: last.size, columns: rows.size, source: last.source, target: rows.target)
            axes.remove(at: row)
            taken = axes.count - 1
        } else {
            inner = .elements(last.size, source: last.source, target: last.target)
        }
        outer = axes[..<taken].map { ($0.size, $0.source * elementSize, $0.target * elementSize) }
    }

    func run(_ source: UnsafeRawPointer, _ target: UnsafeMutableRawPointer) {
        guard byteCount > 0 else { return }
        walk(source + sourceOffset, target + targetOffset, 0)
    }

    /// Shares the outermost axis among the pool's threads where that pays.
    func runShared(_ source: UnsafeRawPointer, _ target: UnsafeMutableRawPointer) {
        guard byteCount > Self.bytesWorthSharing, WorkerPool.shared.width > 1 else { return run(source, target) }
        if outer.isEmpty, case .transpose(let rows, let columns, let from, let to) = inner {
            let parts = WorkerPool.shared.width * 2
            return inParts(parts) { part in
                let range = share(columns, part, of: parts)
                kernels.transpose(
                    source + sourceOffset + range.lowerBound * stride, from,
                    target + targetOffset + range.lowerBound * to * stride, to, Int32(rows), Int32(range.count))
            }
        }
        guard let first = outer.first, first.size > 1 else { return run(source, target) }
        let parts = min(first.size, WorkerPool.shared.width * 2)
        let (from, to) = (source + sourceOffset, target + targetOffset)
        inParts(parts) { part in
            for index in share(first.size, part, of: parts) {
                walk(from + index * first.source, to + index * first.target, 1)
            }
        }
    }

    private static let bytesWorthSharing = 256 << 10

    private func walk(_ source: UnsafeRawPointer, _ target: UnsafeMutableRawPointer, _ axis: Int) {
        guard axis < outer.count else { return move(source, target) }
        let step = outer[axis]
        var (from, to) = (source, target)
        for _ in 0..<step.size {
            walk(from, to, axis + 1)
            from += step.source
            to += step.target
        }
    }

    @inline(__always)
    private func move(_ source: UnsafeRawPointer, _ target: UnsafeMutableRawPointer) {
        switch inner {
        case .run(let byteCount): target.copyMemory(from: source, byteCount: byteCount)
        case .fill(let count): elements(source, 0, target, 1, count)
        case .elements(let count, let from, let to): elements(source, from, target, to, count)
        case .transpose(let rows, let columns, let from, let to):
            kernels.transpose(source, from, target, to, Int32(rows), Int32(columns))
        }
    }

    private func elements(
        _ source: UnsafeRawPointer, _ sourceStride: Int, _ target: UnsafeMutableRawPointer, _ targetStride: Int,
        _ count: Int
    ) {
        func move<T: BitwiseCopyable>(_: T.Type) {
            let (from, to) = (source.assumingMemoryBound(to: T.self), target.assumingMemoryBound(to: T.self))
            for index in 0..<count { to[index * targetStride] = from[index * sourceStride] }
        }
        switch stride {
        case 1: move(UInt8.self)
        case 2: move(UInt16.self)
        case 4: move(UInt32.self)
        case 8: move(UInt64.self)
        default:
            for index in 0..<count {
                (target + index * targetStride * stride).copyMemory(
                    from: source + index * sourceStride * stride, byteCount: stride)
            }
        }
    }
}
