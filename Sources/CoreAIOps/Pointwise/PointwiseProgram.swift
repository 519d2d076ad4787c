import CKernels
package import CoreAIGraph

/// A scalar expression compiled for given operand and result types, run over blocks of elements.
///
/// Real floats narrower than 64 bits are computed in `Float`, integers and booleans in `Int`, complex numbers in pairs of
/// `Double`; each node is one loop over a block, so that the type is looked at once a block and never once an element.
package struct PointwiseProgram: Sendable {
    enum Lane: Sendable { case float, double, integer, complex }

    struct Node: Sendable {
        enum Work: Sendable {
            case load(Int)
            case constant(Double)
            case unary(ScalarExpression.Unary, Int)
            case binary(ScalarExpression.Binary, Int, Int)
            case select(Int, Int, Int)
            case cast(Int)
        }
        var work: Work
        /// The type of the node's value; its lane is wide enough to hold it.
        var scalar: ScalarType
        var lane: Lane
    }

    static let blockSize = 2048

    let nodes: [Node]
    let operandScalars: [ScalarType]
    let resultScalar: ScalarType

    package init(_ expression: ScalarExpression, operands: [ScalarType], result: ScalarType) {
        var builder = Builder(operands: operands, result: result)
        _ = builder.add(expression, like: nil)
        nodes = builder.nodes
        operandScalars = operands
        resultScalar = result
    }

    /// The type of an expression's value; `result` is what the op is declared to give.
    package static func type(of expression: ScalarExpression, operands: [ScalarType], result: ScalarType) -> ScalarType
    {
        var builder = Builder(operands: operands, result: result)
        let node = builder.add(expression, like: nil)
        return builder.nodes[node].scalar
    }

    static func lane(of scalar: ScalarType) -> Lane {
        if scalar.isComplex { return .complex }
        if scalar == .float64 { return .double }
        return scalar.isFloat ? .float : .integer
    }

    private struct Builder {
        let operands: [ScalarType]
        let result: ScalarType
        var nodes: [Node] = []

        init(operands: [ScalarType], result: ScalarType) {
            self.operands = operands
            self.result = result
        }

        /// - Parameter like: the type a number takes: that of the value it is combined with.
        mutating func add(_ expression: ScalarExpression, like: ScalarType?) -> Int {
            switch expression {
            case .operand(let index):
                return append(.load(index), operands[index])
            case .constant(let value):
                return append(.constant(value), like ?? result)
            case .unary(let operation, let a):
                let a = add(a, like: like)
                let part = nodes[a].scalar.complexPart
                let isPart = operation == .realPart || operation == .imaginaryPart
                return append(.unary(operation, a), isPart ? part ?? nodes[a].scalar : nodes[a].scalar)
            case .binary(let operation, let left, let right):
                let (a, b) = pair(left, right, like: like)
                switch operation {
                case .equal, .notEqual, .greater: return append(.binary(operation, a, b), .bool)
                case .complex: return append(.binary(operation, a, b), result)
                default: return append(.binary(operation, a, b), nodes[a].scalar)
                }
            case .select(let condition, let left, let right):
                let c = add(condition, like: .bool)
                let (a, b) = pair(left, right, like: like)
                return append(.select(c, a, b), nodes[a].scalar)
            case .castToResult(let a):
                let a = add(a, like: nil)
                let node = append(.cast(a), result)
                // From a wide source the narrow float is rounded once, when it is stored.
                let source = nodes[a].scalar
                if nodes[node].lane == .float,
                    source == .float64 || (source.isInteger && source.bitWidth > 16) || source.isComplex
                {
                    nodes[node].lane = .double
                }
                return node
            }
        }

        private mutating func pair(_ left: ScalarExpression, _ right: ScalarExpression, like: ScalarType?) -> (Int, Int)
        {
            if case .constant = left {
                let b = add(right, like: like)
                return (add(left, like: nodes[b].scalar), b)
            }
            let a = add(left, like: like)
            return (a, add(right, like: nodes[a].scalar))
        }

        private mutating func append(_ work: Node.Work, _ scalar: ScalarType) -> Int {
            nodes.append(Node(work: work, scalar: scalar, lane: PointwiseProgram.lane(of: scalar)))
            return nodes.count - 1
        }
    }
}

// MARK: Running

extension PointwiseProgram {
    /// Computes every element of `result`; operands of other shapes are broadcast to its shape.
    package func run(_ operands: [HostTensor], _ result: HostTensor) throws(KernelError) {
        try run(operands, result, 0..<result.count)
    }

    /// Computes the elements of `result` in `range`, counted in row-major order. Ranges that do not overlap may be computed at
    /// the same time.
    package func run(_ operands: [HostTensor], _ result: HostTensor, _ range: Range<Int>) throws(KernelError) {
        guard !range.isEmpty else { return }
        let sources = operands.map { BroadcastSource($0, to: result.shape) }
        let block = min(Self.blockSize, range.count)
        let slot = block * (nodes.contains { $0.lane == .complex } ? 16 : 8)
        let memory = UnsafeMutableRawPointer.allocate(byteCount: slot * nodes.count, alignment: 64)
        defer { memory.deallocate() }
        let registers = UnsafeMutablePointer<UnsafeMutableRawPointer>.allocate(capacity: nodes.count)
        defer { registers.deallocate() }
        let position = UnsafeMutablePointer<Int>.allocate(capacity: max(1, result.rank))
        defer { position.deallocate() }
        // The value may be written where it belongs as it is computed.
        let isDirect = Self.isStoredAsComputed(nodes[nodes.count - 1], result.scalar)
        for index in nodes.indices {
            registers[index] = memory + index * slot
            // What does not change from block to block is made once.
            switch nodes[index].work {
            case .constant(let value): Self.fill(registers[index], nodes[index].lane, value, block)
            case .load(let operand) where sources[operand].isScalar:
                sources[operand].load(0, 1, into: registers[index], nodes[index].lane, position)
                Self.repeatFirst(registers[index], nodes[index].lane, block)
            default: break
            }
        }
        try nodes.withUnsafeBufferPointer { (nodes) throws(KernelError) in
            try sources.withUnsafeBufferPointer { (sources) throws(KernelError) in
                var start = range.lowerBound
                while start < range.upperBound {
                    let count = min(block, range.upperBound - start)
                    if isDirect { registers[nodes.count - 1] = result.base + start * result.scalar.byteStride }
                    for index in 0..<nodes.count {
                        try compute(index, nodes, sources, registers, memory + index * slot, position, start, count)
                    }
                    if !isDirect {
                        Self.store(nodes[nodes.count - 1], registers[nodes.count - 1], result, start, count)
                    }
                    start += count
                }
            }
        }
    }

    private func compute(
        _ index: Int, _ nodes: UnsafeBufferPointer<Node>, _ sources: UnsafeBufferPointer<BroadcastSource>,
        _ registers: UnsafeMutablePointer<UnsafeMutableRawPointer>, _ own: UnsafeMutableRawPointer,
        _ position: UnsafeMutablePointer<Int>, _ start: Int, _ count: Int
    ) throws(KernelError) {
        let node = nodes[index]
        let out = registers[index]
        switch node.work {
        case .load(let operand):
            if sources[operand].isScalar { return }
            // A dense operand that needs no conversion is read where it lies.
            if let direct = sources[operand].direct(start) {
                registers[index] = direct
            } else {
                sources[operand].load(start, count, into: own, node.lane, position)
                registers[index] = own
            }
        case .constant: return
        case .unary(let operation, let a): unary(operation, node, nodes[a], registers[a], out, count)
        case .binary(let operation, let a, let b):
            try binary(operation, node, nodes[a], registers[a], registers[b], out, count, start)
        case .select(let c, let a, let b):
            Self.select(node.lane, registers[c], registers[a], registers[b], out, count)
        case .cast(let a): Self.cast(nodes[a], registers[a], node, out, count)
        }
    }

    /// Whether a node's lane is also how the result lies in memory. Constants and loads keep their own register.
    private static func isStoredAsComputed(_ node: Node, _ scalar: ScalarType) -> Bool {
        switch node.work {
        case .constant, .load: return false
        default: break
        }
        switch (node.lane, scalar) {
        case (.float, .float32), (.double, .float64), (.integer, .int64), (.integer, .uint64): return true
        default: return false
        }
    }

    private static func repeatFirst(_ target: UnsafeMutableRawPointer, _ lane: Lane, _ count: Int) {
        func spread<T>(_: T.Type) {
            let values = target.assumingMemoryBound(to: T.self)
            values.update(repeating: values[0], count: count)
        }
        switch lane {
        case .float: spread(Float.self)
        case .double: spread(Double.self)
        case .integer: spread(Int.self)
        case .complex: spread(ComplexPair.self)
        }
    }

    private static func fill(_ target: UnsafeMutableRawPointer, _ lane: Lane, _ value: Double, _ count: Int) {
        switch lane {
        case .float: target.assumingMemoryBound(to: Float.self).update(repeating: Float(value), count: count)
        case .double: target.assumingMemoryBound(to: Double.self).update(repeating: value, count: count)
        case .integer: target.assumingMemoryBound(to: Int.self).update(repeating: Int(value), count: count)
        case .complex:
            target.assumingMemoryBound(to: ComplexPair.self).update(repeating: ComplexPair(value, 0), count: count)
        }
    }

    private static func select(
        _ lane: Lane, _ c: UnsafeMutableRawPointer, _ a: UnsafeMutableRawPointer, _ b: UnsafeMutableRawPointer,
        _ out: UnsafeMutableRawPointer, _ count: Int
    ) {
        let condition = c.assumingMemoryBound(to: Int.self)
        func choose<T>(_: T.Type) {
            let (x, y, z) = (
                a.assumingMemoryBound(to: T.self), b.assumingMemoryBound(to: T.self),
                out.assumingMemoryBound(to: T.self)
            )
            for i in 0..<count { z[i] = condition[i] != 0 ? x[i] : y[i] }
        }
        switch lane {
        case .float: choose(Float.self)
        case .double: choose(Double.self)
        case .integer: choose(Int.self)
        case .complex: choose(ComplexPair.self)
        }
    }

    private static func store(
        _ node: Node, _ source: UnsafeMutableRawPointer, _ result: HostTensor, _ start: Int, _ count: Int
    ) {
        switch (node.lane, result.scalar) {
        case (.float, .float32):
            result.pointer(as: Float.self).advanced(by: start)
                .update(from: source.assumingMemoryBound(to: Float.self), count: count)
        case (.float, .float16):
            let to = result.pointer(as: UInt16.self) + start
            coreai_narrow_half(source.assumingMemoryBound(to: Float.self), to, count)
        case (.float, .bfloat16):
            let (from, to) = (source.assumingMemoryBound(to: Float.self), result.pointer(as: UInt16.self) + start)
            for i in 0..<count { to[i] = bfloat16Bits(from[i]) }
        case (.double, .float64):
            result.pointer(as: Double.self).advanced(by: start)
                .update(from: source.assumingMemoryBound(to: Double.self), count: count)
        case (.integer, _):
            let from = source.assumingMemoryBound(to: Int.self)
            func narrow<T: FixedWidthInteger & BitwiseCopyable>(_: T.Type) {
                let to = result.pointer(as: T.self) + start
                for i in 0..<count { to[i] = T(truncatingIfNeeded: from[i]) }
            }
            switch result.scalar.byteStride {
            case 1: narrow(UInt8.self)
            case 2: narrow(UInt16.self)
            case 4: narrow(UInt32.self)
            default: narrow(UInt64.self)
            }
        case (.complex, _):
            let from = source.assumingMemoryBound(to: ComplexPair.self)
            for i in 0..<count { from[i].store(result, start + i) }
        default:
            let codec = ElementCodec(result.scalar)
            for i in 0..<count {
                let value =
                    node.lane == .float
                    ? Double(source.assumingMemoryBound(to: Float.self)[i])
                    : source.assumingMemoryBound(to: Double.self)[i]
                codec.store(value, overflowing: result, start + i)
            }
        }
    }
}

/// Rounds to nearest even.
@inline(__always) package func bfloat16Bits(_ value: Float) -> UInt16 {
    let bits = value.bitPattern
    if value.isNaN { return UInt16(truncatingIfNeeded: bits >> 16) | 0x40 }
    return UInt16(truncatingIfNeeded: (bits &+ 0x7fff &+ ((bits >> 16) & 1)) >> 16)
}
