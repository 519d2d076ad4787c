import CKernels
import CoreAIGraph

/// An operand seen with the shape of the result: reads any run of result elements.
struct BroadcastSource {
    private let tensor: HostTensor
    /// Sizes of the result, neighbouring axes merged where the operand steps through them evenly.
    private let sizes: [Int]
    /// Operand elements per step along each of `sizes`; 0 where the operand repeats.
    private let strides: [Int]
    private let isDense: Bool

    init(_ tensor: HostTensor, to shape: [Int]) {
        self.tensor = tensor
        let lead = shape.count - tensor.rank
        let own = tensor.strides
        var sizes: [Int] = []
        var strides: [Int] = []
        for (axis, size) in shape.enumerated() where size != 1 {
            let stride = axis < lead || tensor.shape[axis - lead] == 1 ? 0 : own[axis - lead]
            if let last = strides.last, let lastSize = sizes.last, last == stride * size || (last == 0 && stride == 0) {
                sizes[sizes.count - 1] = lastSize * size
                strides[strides.count - 1] = stride
            } else {
                sizes.append(size)
                strides.append(stride)
            }
        }
        self.sizes = sizes
        self.strides = strides
        isDense = sizes.isEmpty || (sizes.count == 1 && strides[0] == 1)
    }

    /// Where the elements from `start` on lie, if they lie as they are computed on.
    func direct(_ start: Int) -> UnsafeMutableRawPointer? {
        guard isDense, tensor.scalar == .float32 || tensor.scalar == .float64 || tensor.scalar == .int64 else {
            return nil
        }
        return tensor.base + start * tensor.scalar.byteStride
    }

    /// One element for the whole result.
    var isScalar: Bool { strides.allSatisfy { $0 == 0 } }

    /// Reads result elements `start ..< start + count` into a lane.
    /// - Parameter position: scratch for as many numbers as the result has axes.
    func load(
        _ start: Int, _ count: Int, into target: UnsafeMutableRawPointer, _ lane: PointwiseProgram.Lane,
        _ position: UnsafeMutablePointer<Int>
    ) {
        guard !sizes.isEmpty else { return loadRun(0, 0, count, target, 0, lane) }
        let inner = sizes.count - 1
        var rest = start
        var offset = 0
        for axis in stride(from: inner, through: 0, by: -1) {
            position[axis] = rest % sizes[axis]
            offset += position[axis] * strides[axis]
            rest /= sizes[axis]
        }
        var done = 0
        while true {
            let run = min(sizes[inner] - position[inner], count - done)
            loadRun(offset, strides[inner], run, target, done, lane)
            done += run
            if done == count { return }
            offset -= position[inner] * strides[inner]
            position[inner] = 0
            var axis = inner - 1
            while axis >= 0 {
                position[axis] += 1
                offset += strides[axis]
                if position[axis] < sizes[axis] { break }
                offset -= sizes[axis] * strides[axis]
                position[axis] = 0
                axis -= 1
            }
        }
    }

    private func loadRun(
        _ offset: Int, _ stride: Int, _ count: Int, _ target: UnsafeMutableRawPointer, _ place: Int,
        _ lane: PointwiseProgram.Lane
    ) {
        func convert<From: BitwiseCopyable, To>(_: From.Type, _ target: UnsafeMutablePointer<To>, _ body: (From) -> To)
        {
            let from = tensor.base.assumingMemoryBound(to: From.self) + offset
            let to = target + place
            if stride == 0 {
                to.update(repeating: body(from[0]), count: count)
            } else if stride == 1 {
                for i in 0..<count { to[i] = body(from[i]) }
            } else {
                for i in 0..<count { to[i] = body(from[i * stride]) }
            }
        }
        switch lane {
        case .float:
            let to = target.assumingMemoryBound(to: Float.self)
            switch tensor.scalar {
            case .float32: convert(Float.self, to) { $0 }
            case .float16 where stride == 1:
                coreai_widen_half(tensor.base.assumingMemoryBound(to: UInt16.self) + offset, to + place, count)
            case .float16: convert(Float16.self, to) { Float($0) }
            case .bfloat16: convert(UInt16.self, to) { Float(bitPattern: UInt32($0) << 16) }
            default:
                let codec = ElementCodec(tensor.scalar)
                for i in 0..<count { to[place + i] = Float(codec.load(tensor, offset + i * stride)) }
            }
        case .double: convert(Double.self, target.assumingMemoryBound(to: Double.self)) { $0 }
        case .complex:
            let to = target.assumingMemoryBound(to: ComplexPair.self)
            for i in 0..<count { to[place + i] = ComplexPair(tensor, offset + i * stride) }
        case .integer:
            let to = target.assumingMemoryBound(to: Int.self)
            switch tensor.scalar {
            case .int16: convert(Int16.self, to) { Int($0) }
            case .int32: convert(Int32.self, to) { Int($0) }
            case .int64: convert(Int64.self, to) { Int($0) }
            case .uint16: convert(UInt16.self, to) { Int($0) }
            case .uint32: convert(UInt32.self, to) { Int($0) }
            case .uint64: convert(UInt64.self, to) { Int(truncatingIfNeeded: $0) }
            case _ where tensor.scalar.isSignedInteger: convert(Int8.self, to) { Int($0) }
            default: convert(UInt8.self, to) { Int($0) }
            }
        }
    }
}
