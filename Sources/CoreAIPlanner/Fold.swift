import CoreAIBackend
import CoreAIGraph
import CoreAIOps

/// The results of an op over constants, by the table's reference kernel; nil if the kernel refuses the data, in which
/// case the op stays and fails, with its name, when it is run.
func evaluate(
    _ op: Op, _ definition: OpDefinition, _ operands: [(TensorType, Constant)], _ results: [TensorType]
) -> [Constant]? {
    var inputs: [OwnedHostTensor] = []
    for (type, constant) in operands {
        guard let tensor = OwnedHostTensor(type, constant) else { return nil }
        inputs.append(tensor)
    }
    let outputs = results.compactMap { OwnedHostTensor($0) }
    guard outputs.count == results.count else { return nil }
    var context = KernelContext(
        op: op, signature: definition.signature, operands: inputs.map(\.tensor), results: outputs.map(\.tensor))
    let isDone = withExtendedLifetime((inputs, outputs)) { (try? definition.reference(&context)) != nil }
    guard isDone, context.actualShapes.allSatisfy({ $0 == nil }) else { return nil }
    return outputs.map { Constant($0.bytes) }
}

/// A tensor in memory of its own.
struct OwnedHostTensor {
    /// Valid while this value lives.
    let tensor: HostTensor
    let bytes: Bytes

    init?(_ type: TensorType) {
        guard let shape = type.staticShape, let count = type.scalar.byteCount(shape) else { return nil }
        bytes = Bytes(byteCount: count) { _ in }
        guard let base = bytes.unsafeBaseAddress else { return nil }
        tensor = HostTensor(type.scalar, shape, UnsafeMutableRawPointer(mutating: base))
    }

    init?(_ type: TensorType, _ constant: Constant) {
        self.init(type)
        guard let definition = OpTable[Op.constantName] else { return nil }
        let op = Op(Op.constantName, attributes: [NamedAttribute("value", .elements(constant))])
        var context = KernelContext(op: op, signature: definition.signature, operands: [], results: [tensor])
        guard (try? definition.reference(&context)) != nil else { return nil }
    }
}

extension Constant {
    /// Integers (or booleans) as the elements of a constant; nil if the type is no integer type of whole bytes.
    init?(_ numbers: [Int], _ scalar: ScalarType) {
        guard scalar.isInteger || scalar == .bool, scalar.byteStride <= 8 else { return nil }
        var bytes: [UInt8] = []
        for number in numbers {
            for byte in 0..<scalar.byteStride { bytes.append(UInt8(truncatingIfNeeded: number >> (8 * byte))) }
        }
        self.init(Bytes(copying: bytes))
    }

    /// The elements of a small integer or boolean tensor as known values.
    func integers(_ type: TensorType?) -> [Dimension]? {
        guard let type, type.scalar.isInteger || type.scalar == .bool, type.scalar.byteStride <= 8,
            let count = type.elementCount.constant, count <= knownValueLimit,
            let tensor = OwnedHostTensor(type, self)
        else { return nil }
        return withExtendedLifetime(tensor) { tensor.tensor.integers.map { Dimension($0) } }
    }
}

/// Tensors of more elements are data, not shapes.
let knownValueLimit = 64
