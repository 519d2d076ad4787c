package import CoreAIGraph
package import CoreAIOps
import Synchronization

/// A segment as a list of kernel calls over host memory.
///
/// Views share their operand's memory. Intermediates live in scratch memory whose layout is worked out once for each
/// assignment of the symbols.
package final class HostExecutable: Executable {
    package let slots: [Slot]

    private let graph: Graph
    private let steps: [Step]
    /// Where the memory of each value is.
    private let places: [Place]
    private let lifetimes: [ClosedRange<Int>]
    private let temporaries: [ValueID]
    private let constants: [Bytes]
    /// For each output, the binding that receives its true sizes, if only the op can tell them.
    private let sizeBindings: [ValueID: Int]
    private let layouts = Mutex<[[Int?]: Layout]>([:])

    private struct Step: Sendable {
        let op: Op
        let signature: Signature
        /// Nil for a view whose result shares no memory with its operand: the bytes are copied.
        let kernel: ReferenceKernel?
    }

    private enum Place: Hashable, Sendable {
        case binding(Int)
        case constant(Int)
        case temporary(Int)
        case unused
    }

    private struct Layout: Sendable {
        var shapes: [[Int]]
        var arena: ArenaLayout
    }

    package init(
        _ graph: Graph, weights: any WeightSource,
        kernels: (
            Op, _ operands: [TensorType], _ results: [TensorType], _ constants: [HostTensor?]
        ) -> ReferenceKernel?
    ) throws(BackendError) {
        self.graph = graph
        var slots = graph.inputs.map { Slot(graph.tensorType($0.value), .read) }
        var places = [Place](repeating: .unused, count: graph.values.count)
        for (index, port) in graph.inputs.enumerated() { places[port.value.index] = .binding(index) }

        var sizeBindings: [ValueID: Int] = [:]
        var outputs: [ValueID: Int] = [:]
        let sizedByOp = Self.valuesSizedByTheirOp(in: graph)
        for port in graph.outputs {
            outputs[port.value] = slots.count
            slots.append(Slot(graph.tensorType(port.value), .write))
            if sizedByOp.contains(port.value) {
                sizeBindings[port.value] = slots.count
                slots.append(Slot(TensorType(.int64, [Dimension(graph.tensorType(port.value).rank)]), .write))
            }
        }

        var constants: [Bytes] = []
        for op in graph.ops where op.isConstant {
            guard case .integer(let number)? = op[attribute: "weight"], let result = op.results.first else {
                throw BackendError(.incompatibleArtifact, "a constant without a weight number")
            }
            constants.append(try Self.expand(try weights.weight(number)))
            places[result.index] = .constant(constants.count - 1)
        }
        for (value, binding) in outputs where places[value.index] == .unused { places[value.index] = .binding(binding) }

        var temporaries: [ValueID] = []
        var steps: [Step] = []
        // Walk backwards so that a view's operand can take the place of the output it ends in.
        for op in graph.ops.reversed() where Self.isView(op) {
            let operand = op.operands[0].index
            let result = op.results[0].index
            if case .binding = places[result], places[operand] == .unused { places[operand] = places[result] }
        }
        for op in graph.ops where !op.isConstant {
            guard let definition = OpTable[op.name] else {
                throw BackendError(.incompatibleArtifact, "unknown op \(op.name)")
            }
            if Self.isView(op) {
                let operand = op.operands[0].index
                let result = op.results[0].index
                if places[result] == .unused { places[result] = places[operand] }
                if places[result] != places[operand] {
                    steps.append(Step(op: op, signature: definition.signature, kernel: nil))
                }
                continue
            }
            for result in op.results where places[result.index] == .unused {
                places[result.index] = .temporary(temporaries.count)
                temporaries.append(result)
            }
            let operandConstants = op.operands.map { operand -> HostTensor? in
                guard case .constant(let index) = places[operand.index],
                    let shape = graph.tensorType(operand).staticShape, let base = constants[index].unsafeBaseAddress
                else { return nil }
                return HostTensor(graph.tensorType(operand).scalar, shape, UnsafeMutableRawPointer(mutating: base))
            }
            let kernel = withExtendedLifetime(constants) {
                kernels(op, op.operands.map(graph.tensorType), op.results.map(graph.tensorType), operandConstants)
            }
            steps.append(
                Step(op: op, signature: definition.signature, kernel: kernel ?? definition.reference))
        }

        var first = [Int](repeating: Int.max, count: temporaries.count)
        var last = [Int](repeating: 0, count: temporaries.count)
        for (index, step) in steps.enumerated() {
            for value in step.op.operands + step.op.results {
                if case .temporary(let number) = places[value.index] {
                    first[number] = min(first[number], index)
                    last[number] = max(last[number], index)
                }
            }
        }
        self.slots = slots
        self.places = places
        self.steps = steps
        self.temporaries = temporaries
        self.constants = constants
        self.sizeBindings = sizeBindings
        lifetimes = zip(first, last).map { $0 <= $1 ? $0...$1 : 0...0 }
    }

    package func resultShapes(for inputs: [[Int]]) throws(BackendError) -> [[Int]]? {
        guard sizeBindings.isEmpty else { return nil }
        var symbols = [Int?](repeating: nil, count: graph.symbolCount)
        for (port, shape) in zip(graph.inputs, inputs) {
            for (size, number) in zip(graph.tensorType(port.value).shape, shape) {
                if let symbol = size.symbolNumber, symbols.indices.contains(symbol) { symbols[symbol] = number }
            }
        }
        var shapes: [[Int]] = []
        for port in graph.outputs {
            guard let shape = graph.tensorType(port.value).shape(symbols) else { return nil }
            shapes.append(shape)
        }
        return shapes
    }

    /// Computes on the caller's thread.
    /// - Parameter scratch: answers memory of at least the given size, aligned to 64 bytes.
    func run(
        _ bindings: [Binding], symbols: [Int?],
        scratch: (Int) throws(BackendError) -> UnsafeMutableRawPointer
    ) throws(BackendError) {
        guard bindings.count == slots.count else {
            throw BackendError(.invalidArgument, "\(bindings.count) bindings for \(slots.count) slots")
        }
        let layout = try self.layout(for: symbols, bindings)
        let arena = try scratch(layout.arena.byteCount)
        var addresses: [UnsafeMutableRawPointer] = []
        addresses.reserveCapacity(bindings.count)
        for binding in bindings {
            guard let base = binding.buffer.hostBytes?.baseAddress else {
                throw BackendError(.invalidArgument, "a buffer the host cannot see")
            }
            addresses.append(base + binding.byteOffset)
        }

        func tensor(_ value: ValueID) -> HostTensor {
            let scalar = graph.tensorType(value).scalar
            let shape = layout.shapes[value.index]
            switch places[value.index] {
            case .binding(let index): return HostTensor(scalar, shape, addresses[index])
            case .temporary(let index): return HostTensor(scalar, shape, arena + layout.arena.offsets[index])
            case .constant(let index):
                let base = constants[index].unsafeBaseAddress.map { UnsafeMutableRawPointer(mutating: $0) }
                return HostTensor(scalar, shape, base ?? arena)
            case .unused: return HostTensor(scalar, shape, arena)
            }
        }

        for step in steps {
            guard let kernel = step.kernel else {
                let source = tensor(step.op.operands[0])
                tensor(step.op.results[0]).base.copyMemory(from: source.base, byteCount: source.byteCount)
                continue
            }
            var context = KernelContext(
                op: step.op, signature: step.signature, operands: step.op.operands.map(tensor),
                results: step.op.results.map(tensor), symbols: symbols)
            do {
                try kernel(&context)
            } catch {
                throw BackendError(.failed, GraphError(error.message, op: step.op).description)
            }
            for (result, shape) in zip(step.op.results, context.actualShapes) {
                guard let binding = sizeBindings[result] else { continue }
                let sizes = addresses[binding].assumingMemoryBound(to: Int64.self)
                for (axis, size) in (shape ?? layout.shapes[result.index]).enumerated() { sizes[axis] = Int64(size) }
            }
        }
    }

    // MARK: Layout

    private func layout(for symbols: [Int?], _ bindings: [Binding]) throws(BackendError) -> Layout {
        if let known = layouts.withLock({ $0[symbols] }) { return known }
        var shapes = [[Int]](repeating: [], count: graph.values.count)
        for (index, value) in graph.values.enumerated() {
            guard places[index] != .unused, let type = value.type.tensor else { continue }
            if case .binding(let binding) = places[index], sizeBindings[ValueID(index)] != nil {
                shapes[index] = bindings[binding].shape  // the upper bound
                continue
            }
            guard let shape = type.shape(symbols) else {
                throw BackendError(.invalidArgument, "\(type) has no size for these inputs")
            }
            shapes[index] = shape
        }
        var requests: [ArenaLayout.Request] = []
        for (value, lifetime) in zip(temporaries, lifetimes) {
            guard let byteCount = graph.tensorType(value).scalar.byteCount(shapes[value.index]) else {
                throw BackendError(.outOfMemory, "\(graph.tensorType(value)) is too large")
            }
            requests.append(ArenaLayout.Request(byteCount: byteCount, lifetime: lifetime))
        }
        let layout = Layout(shapes: shapes, arena: ArenaLayout(requests))
        if sizeBindings.isEmpty {
            layouts.withLock {
                if $0.count >= Self.layoutLimit { $0.removeAll() }
                $0[symbols] = layout
            }
        }
        return layout
    }

    private static let layoutLimit = 64

    private static func isView(_ op: Op) -> Bool {
        guard let definition = OpTable[op.name], case .view = definition.form else { return false }
        return op.operands.count == 1 && op.results.count == 1
    }

    /// Outputs whose type names a symbol that no input of the segment and no op before it can give.
    private static func valuesSizedByTheirOp(in graph: Graph) -> Set<ValueID> {
        var values: Set<ValueID> = []
        for op in graph.ops where op[attribute: sizedByOpAttribute] != nil { values.formUnion(op.results) }
        return values
    }

    /// A constant as kernels read it: mapped bytes as they are where the layout allows, else expanded once.
    private static func expand(_ weight: Weight) throws(BackendError) -> Bytes {
        guard let shape = weight.type.staticShape, let byteCount = weight.type.scalar.byteCount(shape) else {
            throw BackendError(.invalidArgument, "a weight of type \(weight.type)")
        }
        let isPlain = weight.constant.packing == .elements && !weight.type.scalar.isSubByte
        if isPlain, weight.constant.bytes.count >= byteCount,
            weight.constant.bytes.unsafeBaseAddress.map({ Int(bitPattern: $0) % alignment(of: weight.type.scalar) == 0 }
            ) ?? true
        {
            return weight.constant.bytes
        }
        guard let definition = OpTable[Op.constantName] else {
            throw BackendError(.failed, "the op table has no constant")
        }
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

    private static func alignment(of scalar: ScalarType) -> Int {
        (scalar.complexPart ?? scalar).byteStride
    }
}

/// Marks an op that alone can tell the sizes of its results; set by the planner.
package let sizedByOpAttribute = "core.sized_by_op"

extension ScalarType {
    /// The bytes of a dense tensor of this type where kernels compute; nil beyond what memory can hold.
    package func byteCount(_ shape: [Int]) -> Int? {
        var count = byteStride
        for size in shape {
            let (product, overflow) = count.multipliedReportingOverflow(by: size)
            if overflow || product > 1 << 46 { return nil }
            count = product
        }
        return count
    }
}
