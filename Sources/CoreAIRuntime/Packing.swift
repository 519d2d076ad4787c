import CoreAIGraph
import CoreAIOps
import Glibc

// Between any layout of an array and the dense row-major form of kernels.

extension ArrayReference {
    /// Calls `body` with the offset of each row-major run of `length` elements, in order, until it returns false.
    private func forEachRun(_ length: Int, _ body: (_ offset: Int) -> Bool) {
        guard !layout.shape.contains(0) else { return }
        // The run covers trailing dimensions as a whole.
        var outer = layout.rank
        var covered = 1
        while covered < length {
            outer -= 1
            covered *= layout.shape[outer]
        }
        let shape = layout.shape
        let strides = layout.strides
        if layout.interleave == nil {
            var index = [Int](repeating: 0, count: outer)
            var offset = 0
            while true {
                guard body(offset) else { return }
                var axis = outer - 1
                while axis >= 0 {
                    index[axis] += 1
                    offset += strides[axis]
                    if index[axis] < shape[axis] { break }
                    offset -= strides[axis] * shape[axis]
                    index[axis] = 0
                    axis -= 1
                }
                if axis < 0 { return }
            }
        }
        var index = [Int](repeating: 0, count: outer)
        while true {
            guard body(layout.offset(of: index)) else { return }
            var axis = outer - 1
            while axis >= 0 {
                index[axis] += 1
                if index[axis] < shape[axis] { break }
                index[axis] = 0
                axis -= 1
            }
            if axis < 0 { return }
        }
    }

    /// Calls `body` with the address of each element in row-major order until it returns false. Not for sub-byte types.
    func forEachElement(_ body: (UnsafeMutableRawPointer) -> Bool) {
        let size = scalarType.byteStride
        let run = layout.runLength
        forEachRun(run) { offset in
            var address = base + offset * size
            for _ in 0..<run {
                guard body(address) else { return false }
                address += size
            }
            return true
        }
    }

    /// Writes the elements to kernel-form memory.
    package func pack(into destination: UnsafeMutableRawPointer) {
        if scalarType.isSubByte { return expand(into: destination) }
        transfer(destination) { memory, dense, size in memcpy(dense, memory, size) }
    }

    /// Reads the elements from kernel-form memory.
    package func unpack(from source: UnsafeRawPointer) {
        if scalarType.isSubByte { return squeeze(from: source) }
        transfer(UnsafeMutableRawPointer(mutating: source)) { memory, dense, size in memcpy(memory, dense, size) }
    }

    private func transfer(
        _ dense: UnsafeMutableRawPointer,
        _ copy: (_ memory: UnsafeMutableRawPointer, _ dense: UnsafeMutableRawPointer, _ size: Int) -> Void
    ) {
        let run = layout.runLength
        let size = scalarType.byteStride
        var next = dense
        forEachRun(run) { offset in
            copy(base + offset * size, next, run * size)
            next += run * size
            return true
        }
    }

    private func expand(into destination: UnsafeMutableRawPointer) {
        let width = scalarType.bitWidth
        let isSigned = scalarType.isSignedInteger
        let bytes = base.assumingMemoryBound(to: UInt8.self)
        var next = destination.assumingMemoryBound(to: UInt8.self)
        forEachRun(1) { offset in
            let bit = offset * width
            var value = UInt16(bytes[bit / 8]) >> UInt16(bit % 8)
            if bit % 8 + width > 8 { value |= UInt16(bytes[bit / 8 + 1]) << UInt16(8 - bit % 8) }
            var byte = UInt8(truncatingIfNeeded: value) & (UInt8(1) << UInt8(width) - 1)
            if isSigned, byte >> UInt8(width - 1) == 1 { byte |= ~(UInt8(1) << UInt8(width) - 1) }
            next.pointee = byte
            next += 1
            return true
        }
    }

    private func squeeze(from source: UnsafeRawPointer) {
        let width = scalarType.bitWidth
        let mask = UInt8(1) << UInt8(width) - 1
        let bytes = base.assumingMemoryBound(to: UInt8.self)
        var next = source.assumingMemoryBound(to: UInt8.self)
        forEachRun(1) { offset in
            let bit = offset * width
            let shift = bit % 8
            let value = next.pointee & mask
            bytes[bit / 8] = bytes[bit / 8] & ~(mask << UInt8(shift)) | value << UInt8(shift)
            if shift + width > 8 {
                let kept = 8 - shift
                bytes[bit / 8 + 1] = bytes[bit / 8 + 1] & ~(mask >> UInt8(kept)) | value >> UInt8(kept)
            }
            next += 1
            return true
        }
    }
}
