package import CoreAIGraph
package import CoreAIOps

/// A segment as a list of kernel calls over host memory: what a host backend makes of a segment's graph.
package struct HostProgram: Sendable {
    /// The segment's ports and the types of every value, those the lowering added included.
    package var graph: Graph
    package var constants: HostConstants
    package var steps: [HostStep] = []
    /// Values that share the memory of another: the same elements in the same order.
    package var views: [ValueID: ValueID] = [:]
    /// For an output whose size only its op can tell: the value that receives its true sizes.
    package private(set) var sizes: [ValueID: ValueID] = [:]

    package init(_ graph: Graph, _ constants: HostConstants) {
        self.graph = graph
        self.constants = constants
        let outputs = Set(graph.outputs.map(\.value))
        for op in graph.ops where op[attribute: sizedByOpAttribute] != nil {
            for result in op.results where outputs.contains(result) {
                let rank = Dimension(graph.tensorType(result).rank)
                sizes[result] = self.graph.makeValue(.tensor(TensorType(.int64, [rank])))
            }
        }
    }
}

/// One kernel call. What follows from shapes is worked out once for each assignment of the symbols.
package struct HostStep: Sendable {
    /// The op that a failure names.
    package var op: Op
    /// What is called, for reports: `conv2d + clamp`.
    package var name: String
    /// Every value the call reads, constants included.
    package var operands: [ValueID]
    package var results: [ValueID]
    /// The same call for a result that lies in the memory of an operand, of which only a part changes.
    package var update: Update?
    package var prepare: @Sendable (HostShapes) throws(BackendError) -> HostCall

    package init(
        _ op: Op, name: String? = nil, operands: [ValueID], results: [ValueID],
        prepare: @escaping @Sendable (HostShapes) throws(BackendError) -> HostCall
    ) {
        self.op = op
        self.name = name ?? op.plainName
        self.operands = operands
        self.results = results
        self.prepare = prepare
    }
}

extension HostStep {
    package struct Update: Sendable {
        /// The operand that becomes the result.
        package var operand: ValueID
        /// What the call reads then.
        package var operands: [ValueID]
        package var prepare: @Sendable (HostShapes) throws(BackendError) -> HostCall

        package init(
            of operand: ValueID, operands: [ValueID],
            prepare: @escaping @Sendable (HostShapes) throws(BackendError) -> HostCall
        ) {
            self.operand = operand
            self.operands = operands
            self.prepare = prepare
        }
    }
}

package struct HostCall: Sendable {
    /// Bytes that the call needs beside its operands and results.
    package var scratchByteCount: Int
    package var run: @Sendable (HostMemory) throws(KernelError) -> Void

    package init(scratch: Int = 0, run: @escaping @Sendable (HostMemory) throws(KernelError) -> Void) {
        scratchByteCount = scratch
        self.run = run
    }
}

/// The numbers of one assignment of the symbols.
package struct HostShapes: Sendable {
    package let symbols: [Int?]
    package let shapes: [[Int]]
    package subscript(_ value: ValueID) -> [Int] { shapes[value.index] }
}

/// Where each value lies in one run. Scratch is aligned to 64 bytes and holds anything.
package struct HostMemory: @unchecked Sendable {
    package let addresses: UnsafePointer<UnsafeMutableRawPointer>
    package let scratch: UnsafeMutableRawPointer

    @inline(__always)
    package subscript(_ value: ValueID) -> UnsafeMutableRawPointer { addresses[value.index] }

    @inline(__always)
    package func floats(_ value: ValueID) -> UnsafeMutablePointer<Float> {
        addresses[value.index].assumingMemoryBound(to: Float.self)
    }
}

// MARK: Constants

/// The constants of a segment as kernels read them: mapped bytes where their layout allows, else expanded at first use.
package final class HostConstants: @unchecked Sendable {
    private let weights: any WeightSource
    private var numbers: [ValueID: Int] = [:]
    private var expanded: [ValueID: Bytes] = [:]
    private var types: [ValueID: TensorType] = [:]

    /// Takes the constant ops out of `graph`.
    init(_ graph: inout Graph, _ weights: any WeightSource) throws(BackendError) {
        self.weights = weights
        for op in graph.ops where op.isConstant {
            guard case .integer(let number)? = op[attribute: "weight"], let result = op.results.first else {
                throw BackendError(.incompatibleArtifact, "a constant without a weight number")
            }
            numbers[result] = number
            types[result] = graph.tensorType(result)
        }
        graph.ops.removeAll(where: \.isConstant)
    }

    package func contains(_ value: ValueID) -> Bool { types[value] != nil }

    /// A constant of the lowering's own.
    package func add(_ bytes: Bytes, _ type: TensorType, to graph: inout Graph) -> ValueID {
        let value = graph.makeValue(.tensor(type))
        expanded[value] = bytes
        types[value] = type
        return value
    }

    package func bytes(_ value: ValueID) throws(BackendError) -> Bytes? {
        if let bytes = expanded[value] { return bytes }
        guard let number = numbers[value] else { return nil }
        let bytes = try Self.expand(try weights.weight(number))
        expanded[value] = bytes
        return bytes
    }

    /// Calls `body` with the tensor; nil if the value is no constant.
    package func withTensor<R>(
        _ value: ValueID, _ body: (HostTensor) throws(BackendError) -> R
    ) throws(BackendError) -> R? {
        guard let type = types[value], let shape = type.staticShape, let bytes = try bytes(value),
            let base = bytes.unsafeBaseAddress
        else { return nil }
        defer { withExtendedLifetime(bytes) {} }
        return try body(HostTensor(type.scalar, shape, UnsafeMutableRawPointer(mutating: base)))
    }

    /// The elements of a small float constant.
    package func floats(_ value: ValueID, limit: Int = .max) -> [Float]? {
        guard let type = types[value], type.scalar == .float32, let count = type.elementCount.constant, count <= limit
        else { return nil }
        let numbers = try? withTensor(value) { tensor in
            Array(UnsafeBufferPointer(start: tensor.pointer(as: Float.self), count: tensor.count))
        }
        return numbers ?? nil
    }

    /// Lets go of what was expanded on the way and is not read by a run.
    func keep(only values: Set<ValueID>) {
        expanded = expanded.filter { values.contains($0.key) }
    }

    private static func expand(_ weight: Weight) throws(BackendError) -> Bytes {
        guard let shape = weight.type.staticShape, let byteCount = weight.type.scalar.byteCount(shape) else {
            throw BackendError(.invalidArgument, "a weight of type \(weight.type)")
        }
        let isPlain = weight.constant.packing == .elements && !weight.type.scalar.isSubByte
        let alignment = (weight.type.scalar.complexPart ?? weight.type.scalar).byteStride
        if isPlain, weight.constant.bytes.count >= byteCount,
            weight.constant.bytes.unsafeBaseAddress.map({ Int(bitPattern: $0) % alignment == 0 }) ?? true
        {
            return weight.constant.bytes
        }
        guard let definition = OpTable[Op.constantName] else {
            throw BackendError(.failed, "the op table has no constant")
        }
        try HostBuffer.checkRoom(for: byteCount)
        let op = Op(Op.constantName, attributes: [NamedAttribute("value", .elements(weight.constant))])
        do {
            return try Bytes(byteCount: byteCount) { memory in
                guard let base = memory.baseAddress else { return }
                var context = KernelContext(
                    op: op, signature: definition.signature, operands: [],
                    results: [HostTensor(weight.type.scalar, shape, base)])
                try definition.reference(&context)
            }
        } catch {
            throw BackendError(.failed, "a weight of type \(weight.type): \(error)")
        }
    }
}

// MARK: Portable lowering

/// Makes a program of a segment whose constants have been taken out.
package typealias HostLowering = @Sendable (Graph, HostConstants) throws(BackendError) -> HostProgram

extension HostProgram {
    /// Every op by its kernel of the op table, views as views.
    package static func portable(_ graph: Graph, _ constants: HostConstants) throws(BackendError) -> HostProgram {
        var program = HostProgram(graph, constants)
        for op in graph.ops { try program.appendPortable(op) }
        return program
    }

    /// The op as it stands, by `kernel` or the table's own.
    package mutating func appendPortable(_ op: Op, kernel: ReferenceKernel? = nil) throws(BackendError) {
        guard let definition = OpTable[op.name] else {
            throw BackendError(.incompatibleArtifact, "unknown op \(op.name)")
        }
        if case .view = definition.form, op.operands.count == 1, op.results.count == 1 {
            appendView(op)
            return
        }
        let name = kernel == nil ? "\(op.plainName) (portable)" : op.plainName
        let kernel = kernel ?? definition.reference
        let signature = definition.signature
        let types = (op.operands + op.results).map { graph.tensorType($0).scalar }
        let sized = op.results.map { sizes[$0] }
        steps.append(
            HostStep(op, name: name, operands: op.operands, results: op.results + sized.compactMap { $0 }) { shapes in
                let operands = op.operands.map { shapes[$0] }
                let results = op.results.map { shapes[$0] }
                let symbols = shapes.symbols
                return HostCall { (memory) throws(KernelError) in
                    var context = KernelContext(
                        op: op, signature: signature,
                        operands: op.operands.indices.map {
                            HostTensor(types[$0], operands[$0], memory[op.operands[$0]])
                        },
                        results: op.results.indices.map {
                            HostTensor(types[operands.count + $0], results[$0], memory[op.results[$0]])
                        },
                        symbols: symbols)
                    try kernel(&context)
                    for (index, value) in sized.enumerated() {
                        guard let value else { continue }
                        let target = memory[value].assumingMemoryBound(to: Int64.self)
                        for (axis, size) in (context.actualShapes[index] ?? results[index]).enumerated() {
                            target[axis] = Int64(size)
                        }
                    }
                }
            })
    }

    /// The result of `op` shares its operand's memory.
    package mutating func appendView(_ op: Op) {
        views[op.results[0]] = root(of: op.operands[0])
    }

    /// The value whose memory `value` shares in the end.
    package func root(of value: ValueID) -> ValueID {
        var value = value
        while let next = views[value] { value = next }
        return value
    }
}
