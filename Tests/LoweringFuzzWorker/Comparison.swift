import CoreAIGraph
import CoreAIOps
import CoreAITestSupport

extension TestTensor {
    init(_ owned: OwnedTensor) {
        let tensor = owned.tensor
        let bytes = withExtendedLifetime(owned) {
            Bytes(copying: UnsafeRawBufferPointer(start: tensor.base, count: tensor.byteCount))
        }
        self.init(tensor.scalar, tensor.shape, bytes: bytes)
    }

    /// The same numbers, each off by a few units in its last place.
    func disturbed(_ random: inout Random) -> TestTensor {
        guard scalar.isFloat else { return self }
        let copy = TestTensor(scalar, shape, bytes: bytes.withUnsafeBytes { Bytes(copying: $0) })
        let codec = ElementCodec(scalar)
        for index in 0..<copy.host.count {
            let value = codec.load(copy.host, index)
            codec.store(value * (1 + scalar.unit * 2 * random.number()), copy.host, index)
        }
        return copy
    }
}

extension ScalarType {
    /// The distance from 1 to the next number.
    var unit: Double {
        switch self {
        case .float16: 0x1p-10
        case .bfloat16: 0x1p-7
        case .float32: 0x1p-23
        case .float64: 0x1p-52
        default: 0
        }
    }
}

/// How far each output may be off.
struct Allowance {
    private let room: [[Double]]

    /// - Parameter disturbed: what the reference makes of slightly other inputs: the room that the problem itself leaves.
    /// - Parameter unit: that of the narrowest type on the way.
    init(_ wanted: [TestTensor], unit: Double, disturbed: [[TestTensor]] = []) {
        room = wanted.enumerated().map { index, tensor in
            let values = tensor.doubles
            let largest = values.filter(\.isFinite).map(abs).max() ?? 0
            let base = max(tensor.scalar.unit * (tensor.scalar.bitWidth == 16 ? 3 : 200), unit * 3) * largest + unit * 8
            var room = values.map { base + $0.magnitude * tensor.scalar.unit * 4 }
            for other in disturbed where other.indices.contains(index) {
                let moved = other[index].doubles
                guard moved.count == values.count else { return values.map { _ in .infinity } }
                let shifts = zip(values, moved).map { $0 == $1 || $0.isNaN && $1.isNaN ? 0 : ($0 - $1).magnitude }
                let most = shifts.filter(\.isFinite).max() ?? 0
                for (element, shift) in shifts.enumerated() {
                    room[element] = shift.isFinite ? max(room[element], 30 * shift + 8 * most + base) : .infinity
                }
            }
            return room
        }
    }

    /// The first difference in words.
    /// - Parameter straysAreFine: whether a few elements may differ altogether, as where a step function jumps.
    func difference(_ got: [TestTensor], _ wanted: [TestTensor], straysAreFine: Bool = false) -> String? {
        guard got.count == wanted.count else { return "\(got.count) outputs, expected \(wanted.count)" }
        for (index, (a, b)) in zip(got, wanted).enumerated() {
            guard a.shape == b.shape else { return "output \(index) has shape \(a.shape), expected \(b.shape)" }
            guard a.scalar == b.scalar else { return "output \(index) is \(a.scalar), expected \(b.scalar)" }
            // So close to the largest number the order of a sum decides what overflows.
            if b.scalar == .float32, b.doubles.contains(where: { $0.isFinite && $0.magnitude > 1e30 }) { continue }
            var strays = straysAreFine ? 1 + a.doubles.count / 1000 : 0
            for (element, (x, y)) in zip(a.doubles, b.doubles).enumerated() {
                if x == y || x.isNaN && y.isNaN || room[index][element] == .infinity { continue }
                // The order of a sum decides whether it overflows.
                if x.isInfinite, y.magnitude > 1e37, x.sign == y.sign { continue }
                if !((x - y).magnitude <= room[index][element]) {
                    strays -= 1
                    if strays >= 0 { continue }
                    return
                        "output \(index) \(a.scalar)\(a.shape) element \(element) is \(x), expected \(y) within \(room[index][element])"
                }
            }
        }
        return nil
    }
}
