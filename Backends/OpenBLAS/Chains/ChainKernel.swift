import CKernels
import CoreAIBackend
import CoreAIGraph
import CoreAIOps

/// A chain's steps as the kernels read them. Operand registers come first, then constants, then one for each step.
final class ChainKernel: Sendable {
    let operands: [ValueID]
    private let operandTypes: [coreai_pointwise_type]
    private let resultType: coreai_pointwise_type
    private let constants: [Float]
    private let steps: [coreai_pointwise_step]

    static let registerLimit = 64

    /// - Parameter given: a node that is computed elsewhere, as the value that becomes the first operand.
    /// - Returns: nil if the chain is too long for the kernels, or has no step.
    init?(_ chain: PointwiseChain, root: Int, result: ScalarType, given: (node: Int, value: ValueID)? = nil) {
        var needed = chain.needed(for: root, given: given?.node)
        guard needed.count <= Self.registerLimit else { return nil }
        var operands = given.map { [$0.value] } ?? []
        var scalars = given.map { _ in [ScalarType.float32] } ?? []
        var registers: [Int: Int] = given.map { [$0.node: 0] } ?? [:]
        for node in needed {
            guard case .operand(let index) = chain.nodes[node], registers[node] == nil else { continue }
            registers[node] = operands.count
            operands.append(chain.operands[index])
            scalars.append(chain.operandScalars[index])
        }
        var constants: [Float] = []
        for node in needed {
            guard let value = chain.constantValue(node), registers[node] == nil else { continue }
            registers[node] = operands.count + constants.count
            constants.append(value)
        }
        needed.removeAll { registers[$0] != nil }
        var steps: [coreai_pointwise_step] = []
        for node in needed {
            guard case .step(let code, let a, let b, let c) = chain.nodes[node] else { return nil }
            registers[node] = operands.count + constants.count + steps.count
            let arity = PointwiseChain.arity(code)
            func register(_ node: Int, _ position: Int) -> Int32 {
                position < arity ? Int32(registers[node] ?? 0) : 0
            }
            steps.append(
                coreai_pointwise_step(
                    code: Int32(bitPattern: code.rawValue), a: register(a, 0), b: register(b, 1), c: register(c, 2)))
        }
        guard !steps.isEmpty, let resultType = Self.type(result) else { return nil }
        var types: [coreai_pointwise_type] = []
        for scalar in scalars {
            guard let type = Self.type(scalar) else { return nil }
            types.append(type)
        }
        self.operands = operands
        operandTypes = types
        self.resultType = resultType
        self.constants = constants
        self.steps = steps
    }

    private static func type(_ scalar: ScalarType) -> coreai_pointwise_type? {
        switch scalar {
        case .float32: COREAI_PW_FLOAT
        case .float16: COREAI_PW_HALF
        case .bfloat16: COREAI_PW_BFLOAT
        case .bool: COREAI_PW_BOOL
        default: nil
        }
    }

    var stepCount: Int { steps.count }

    /// The chain over tensors of given shapes.
    func prepared(_ shapes: [[Int]], result: [Int]) throws(BackendError) -> PreparedChain {
        try PreparedChain(self, shapes, result)
    }

    /// Owns the C structure of one preparation.
    final class PreparedChain: @unchecked Sendable {
        private let kernel: ChainKernel
        private let program: UnsafeMutablePointer<coreai_pointwise>
        private let operands: UnsafeMutablePointer<coreai_pointwise_operand>
        private let constants: UnsafeMutablePointer<Float>
        private let steps: UnsafeMutablePointer<coreai_pointwise_step>
        let count: Int

        fileprivate init(_ kernel: ChainKernel, _ shapes: [[Int]], _ result: [Int]) throws(BackendError) {
            let axes = CollapsedAxes(shapes, result)
            guard axes.shape.count <= Int(COREAI_PW_MAX_RANK) else {
                throw BackendError(.unsupported, "a pointwise chain over \(axes.shape.count) axes that do not merge")
            }
            self.kernel = kernel
            operands = .allocate(capacity: max(1, kernel.operands.count))
            constants = .allocate(capacity: max(1, kernel.constants.count))
            steps = .allocate(capacity: kernel.steps.count)
            program = .allocate(capacity: 1)
            for (index, value) in kernel.constants.enumerated() { constants[index] = value }
            for (index, step) in kernel.steps.enumerated() { steps[index] = step }
            for (index, type) in kernel.operandTypes.enumerated() {
                var operand = coreai_pointwise_operand()
                operand.type = Int32(bitPattern: type.rawValue)
                withUnsafeMutableBytes(of: &operand.strides) { bytes in
                    let strides = bytes.assumingMemoryBound(to: Int.self)
                    for (axis, stride) in axes.strides[index].enumerated() { strides[axis] = stride }
                }
                operands[index] = operand
            }
            var program = coreai_pointwise(
                operand_count: Int32(kernel.operands.count), constant_count: Int32(kernel.constants.count),
                step_count: Int32(kernel.steps.count), result_type: Int32(bitPattern: kernel.resultType.rawValue),
                operands: UnsafePointer(operands), constants: UnsafePointer(constants), steps: UnsafePointer(steps),
                rank: Int32(axes.shape.count), shape: (0, 0, 0, 0, 0, 0))
            withUnsafeMutableBytes(of: &program.shape) { bytes in
                let shape = bytes.assumingMemoryBound(to: Int.self)
                for (axis, size) in axes.shape.enumerated() { shape[axis] = size }
            }
            self.program.initialize(to: program)
            count = result.reduce(1, *)
        }

        deinit {
            program.deallocate()
            operands.deallocate()
            constants.deallocate()
            steps.deallocate()
        }

        /// Elements `range` of the result, counted in row-major order.
        func run(_ addresses: UnsafePointer<UnsafeRawPointer>, _ result: UnsafeMutableRawPointer, _ range: Range<Int>) {
            kernels.pointwise(program, addresses, result, range.lowerBound, range.upperBound)
        }
    }
}

/// The axes of a result, merged where every operand walks through them alike.
struct CollapsedAxes {
    var shape: [Int] = []
    /// For each operand, a stride for each axis, in elements; 0 where it is repeated.
    var strides: [[Int]]

    init(_ operands: [[Int]], _ result: [Int]) {
        let full = operands.map { operand -> [Int] in
            var strides = [Int](repeating: 0, count: result.count)
            var next = 1
            for (axis, size) in operand.enumerated().reversed() {
                let target = result.count - operand.count + axis
                if target >= 0, size != 1 { strides[target] = next }
                next *= size
            }
            return strides
        }
        strides = Array(repeating: [], count: operands.count)
        for axis in result.indices where result[axis] != 1 {
            if let last = shape.last,
                full.indices.allSatisfy({ strides[$0][shape.count - 1] == full[$0][axis] * result[axis] })
            {
                shape[shape.count - 1] = last * result[axis]
                for index in full.indices { strides[index][shape.count - 1] = full[index][axis] }
            } else {
                shape.append(result[axis])
                for index in full.indices { strides[index].append(full[index][axis]) }
            }
        }
        if shape.isEmpty {
            shape = [1]
            for index in strides.indices { strides[index] = [0] }
        }
    }
}
