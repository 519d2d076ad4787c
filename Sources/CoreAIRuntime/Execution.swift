import CoreAIGraph
import CoreAIOps
import Synchronization

/// Set from any thread to end a run between two steps.
final class CancellationFlag: Sendable {
    private let flag = Atomic<Bool>(false)
    func set() { flag.store(true, ordering: .relaxed) }
    var isSet: Bool { flag.load(ordering: .relaxed) }
}

extension FunctionExecutor {
    /// One run on this thread, with arguments in any layout. Returns the outputs that have no view, in order.
    func execute(
        _ arguments: RunArguments, isCancelled: () -> Bool
    ) throws -> [(name: String, content: InferenceValue.Content)] {
        if isCancelled() { throw CancellationError() }
        let hold = Hold(arguments)
        defer { hold.end() }
        var temporaries: [ArrayMemory] = []
        defer { withExtendedLifetime((arguments, temporaries)) {} }

        func temporary(_ scalarType: ScalarType, _ shape: [Int]) -> HostTensor {
            let byteCount = shape.reduce(scalarType.byteStride, *)
            let memory = ArrayMemory(byteCount: byteCount, zeroed: false)
            temporaries.append(memory)
            return HostTensor(scalarType, shape, memory.base)
        }
        func tensor(_ reference: ArrayReference) -> HostTensor {
            if reference.isKernelForm { return HostTensor(reference) }
            let tensor = temporary(reference.scalarType, reference.layout.shape)
            reference.pack(into: tensor.base)
            return tensor
        }

        let inputs = arguments.inputs.map(tensor)
        let states = arguments.states.map(tensor)
        var places = [OutputPlace?](repeating: nil, count: arguments.outputs.count)
        let descriptor = descriptor
        try run(
            inputs: inputs, states: states,
            output: { index, shape in
                if let view = arguments.outputs[index] {
                    guard view.layout.shape == shape else {
                        throw RunError(
                            .shape, function: descriptor.name, role: "output",
                            argument: descriptor.outputs[index].name, expected: describe(view.scalarType, shape),
                            found: describe(view.scalarType, view.layout.shape))
                    }
                    if view.isKernelForm {
                        let tensor = HostTensor(view)
                        places[index] = .view
                        return tensor
                    }
                    let tensor = temporary(view.scalarType, shape)
                    places[index] = .copy(view, from: tensor)
                    return tensor
                }
                let scalarType = descriptor.outputScalarType(index)
                let array = NDArray(scalarType, ArrayLayout(scalarType, shape: shape), zeroed: scalarType.isSubByte)
                if scalarType.isSubByte {
                    let tensor = temporary(scalarType, shape)
                    places[index] = .newCopy(array, from: tensor)
                    return tensor
                }
                places[index] = .new(array)
                return HostTensor(array.reference)
            },
            isCancelled: isCancelled)

        for (state, tensor) in zip(arguments.states, states) where state.base != tensor.base {
            state.unpack(from: tensor.base)
        }
        var results: [(name: String, content: InferenceValue.Content)] = []
        for (output, place) in zip(descriptor.outputs, places) {
            switch place {
            case .view: break
            case .copy(let view, let tensor): view.unpack(from: tensor.base)
            case .new(let array): results.append((output.name, .ndArray(array)))
            case .newCopy(let array, let tensor):
                array.reference.unpack(from: tensor.base)
                results.append((output.name, .ndArray(array)))
            case nil: fatalError("function '\(descriptor.name)' did not compute output '\(output.name)'")
            }
        }
        return results
    }
}

/// Where an output was written, and what is left to do.
private enum OutputPlace {
    case view
    case copy(ArrayReference, from: HostTensor)
    case new(NDArray)
    case newCopy(NDArray, from: HostTensor)
}

extension HostTensor {
    fileprivate init(_ reference: ArrayReference) {
        self.init(reference.scalarType, reference.layout.shape, reference.base)
    }
}

extension InferenceFunctionDescriptor {
    fileprivate func outputScalarType(_ index: Int) -> ScalarType {
        guard case .ndArray(let descriptor) = outputs[index].value else {
            fatalError("output '\(outputs[index].name)' of function '\(name)' is an image")
        }
        return descriptor.scalarType
    }
}

/// In debug builds, traps when two runs, or two arguments of one, write to the same elements. Only dense arguments are
/// looked at: the elements of others may interleave without touching.
private struct Hold {
    #if DEBUG
        private var held: [(memory: ArrayMemory, range: Range<UInt>)] = []

        init(_ arguments: RunArguments) {
            let written = (arguments.states + arguments.outputs.compactMap(\.self)).filter(\.isExact)
            let ranges = written.map(\.addresses)
            for (i, range) in ranges.enumerated() {
                demand(
                    !ranges[..<i].contains { $0.overlaps(range) }
                        && !arguments.inputs.contains { $0.isExact && $0.addresses.overlaps(range) },
                    "InferenceFunction: a state or output view overlaps another argument of the same run")
            }
            for (reference, range) in zip(written, ranges) {
                guard let memory = reference.memory else { continue }
                memory.hold(range)
                held.append((memory, range))
            }
        }

        func end() {
            for (memory, range) in held { memory.letGo(range) }
        }
    #else
        init(_ arguments: RunArguments) {}
        func end() {}
    #endif
}

extension ArrayReference {
    fileprivate var isExact: Bool { layout.isDense && byteCount > 0 }

    fileprivate var addresses: Range<UInt> { UInt(bitPattern: base)..<UInt(bitPattern: base) + UInt(byteCount) }

    fileprivate var memory: ArrayMemory? { owner as? ArrayMemory ?? (owner as? NDArray.Box)?.memory }
}
