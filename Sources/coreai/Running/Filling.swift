import CoreAIOps
import CoreAIRuntime
import Foundation

/// SplitMix64: the same numbers everywhere for the same seed.
struct SeededNumbers {
    private var state: UInt64

    /// - Parameter name: of what is filled, so that each has numbers of its own.
    init(seed: Int, name: String) {
        // FNV-1a
        state = name.utf8.reduce(0xcbf2_9ce4_8422_2325) { ($0 ^ UInt64($1)) &* 0x100_0000_01b3 }
        state ^= UInt64(bitPattern: Int64(seed)) &* 0x9e37_79b9_7f4a_7c15
    }

    mutating func next() -> UInt64 {
        state &+= 0x9e37_79b9_7f4a_7c15
        var mixed = state
        mixed = (mixed ^ mixed >> 30) &* 0xbf58_476d_1ce4_e5b9
        mixed = (mixed ^ mixed >> 27) &* 0x94d0_49bb_1331_11eb
        return mixed ^ mixed >> 31
    }
}

extension NDArray {
    /// Made-up elements: floats uniform in [-1, 1), integers from 0 to at most 7, booleans either.
    init(fillingFor descriptor: NDArrayDescriptor, seed: Int, name: String) {
        let scalar = descriptor.scalarType
        let part = scalar.complexPart ?? scalar
        let count = descriptor.shape.reduce(scalar.isComplex ? 2 : 1, *)
        var numbers = SeededNumbers(seed: seed, name: name)
        let codec = ElementCodec(part)
        // Steps that the type holds, so that nothing rounds up to 1.
        let steps = part.bitWidth > 16 ? 0x1p23 : 0x1p7
        let largest = part == .bool ? 1 : min(7, part.isInteger ? codec.integerBounds.1 : 7)
        var data = Data(count: count * part.byteStride)
        data.withUnsafeMutableBytes { bytes in
            guard let base = bytes.baseAddress else { return }
            let tensor = HostTensor(part, [count], base)
            for index in 0..<count {
                let bits = Double(numbers.next() >> 32) / 0x1p32
                let value =
                    part.isFloat ? (bits * 2 * steps).rounded(.down) / steps - 1 : (bits * (largest + 1)).rounded(.down)
                codec.store(value, tensor, index)
            }
        }
        self.init(kernelBytes: data, shape: descriptor.shape, scalarType: scalar)
    }
}
