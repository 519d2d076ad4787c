import CoreAIOps
import CoreAIRuntime
import Foundation

/// What an array holds, at a glance. Complex numbers count by their magnitude.
struct Statistics {
    /// Of the elements that are numbers; nil if there are none.
    private(set) var range: (least: Double, mean: Double, largest: Double)?
    private(set) var nanCount = 0
    /// The first elements as text.
    private(set) var first: [String] = []

    init(_ array: NDArray, firstCount: Int = 4) {
        let scalar = array.scalarType
        let part = scalar.complexPart ?? scalar
        let parts = scalar.isComplex ? 2 : 1
        let count = array.shape.reduce(1, *)
        let codec = ElementCodec(part)
        var data = array.kernelBytes
        var (least, largest, sum) = (Double.infinity, -Double.infinity, 0.0)
        data.withUnsafeMutableBytes { bytes in
            guard let base = bytes.baseAddress, count > 0 else { return }
            let tensor = HostTensor(part, [count * parts], base)
            for index in 0..<count {
                let real = codec.load(tensor, index * parts)
                let imaginary = scalar.isComplex ? codec.load(tensor, index * 2 + 1) : 0
                if index < firstCount {
                    first.append(
                        scalar.isComplex
                            ? "\(real.brief)\(imaginary < 0 ? "" : "+")\(imaginary.brief)i" : text(real, index))
                }
                let value = scalar.isComplex ? hypot(real, imaginary) : real
                guard !value.isNaN else {
                    nanCount += 1
                    continue
                }
                (least, largest, sum) = (min(least, value), max(largest, value), sum + value)
            }
            func text(_ value: Double, _ index: Int) -> String {
                switch scalar {
                case .bool: value == 0 ? "false" : "true"
                case .uint64: String(UInt64(bitPattern: Int64(tensor.integer(at: index))))
                case .int64: String(tensor.integer(at: index))
                default: value.brief
                }
            }
        }
        if nanCount < count { range = (least, sum / Double(count - nanCount), largest) }
        if count > firstCount { first.append("…") }
    }
}
