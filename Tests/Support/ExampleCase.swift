import CoreAIGraph
package import CoreAIOps

/// One example of the op table, run as a graph of one op on given backends.
package struct ExampleCase: Sendable, CustomStringConvertible {
    /// How the example's operands reach the op. All forms must give the same answer.
    package enum Form: String, Sendable, CaseIterable {
        /// Steering operands are constants, data comes from inputs: the usual form of an asset.
        case inputs
        /// Everything is a constant: the op is folded at load.
        case constants
        /// Everything is an input: sizes are worked out at run time.
        case dynamic
        /// As `inputs`, with every size of every input unknown until the run.
        case symbolic
    }

    package let definition: OpDefinition
    package let index: Int
    package let form: Form

    package static func all() -> [ExampleCase] {
        OpTable.definitions.flatMap { definition in
            definition.examples.indices.flatMap { index in
                Form.allCases.map { ExampleCase(definition: definition, index: index, form: $0) }
            }
        }
    }

    package var description: String { "\(definition.name) example \(index) (\(form.rawValue))" }

    /// - Returns: nothing if the op answers as the example says, or if it refuses, with words, a form it cannot take.
    package func failures(on units: TestUnits) -> [Failure] {
        let example = definition.examples[index]
        var graph = Graph(name: "main")
        var inputs: [TestTensor] = []
        var operands: [ValueID] = []
        for (position, tensor) in example.operands.enumerated() {
            let role = definition.signature.operands[min(position, definition.signature.operands.count - 1)].role
            let value = TestTensor(tensor)
            if form == .constants || (form != .dynamic && role == .steering) {
                operands.append(
                    graph.append(
                        Op.constantName, [], [NamedAttribute("value", .elements(Constant(value.bytes)))],
                        results: [.tensor(value.type)])[0])
            } else {
                let shape = value.shape.map { form == .symbolic ? Dimension.unknown : Dimension($0) }
                let id = graph.makeValue(.tensor(TensorType(value.scalar, shape)))
                graph.inputs.append(Port("i\(position)", id))
                operands.append(id)
                inputs.append(value)
            }
        }
        let isStatic = form == .inputs || form == .constants
        let types = example.results.map { result in
            ValueType.tensor(
                TensorType(result.scalar, result.shape.map { isStatic ? Dimension($0) : Dimension.unknown }))
        }
        let results = graph.append(definition.name, operands, example.attributes, results: types)
        graph.outputs = results.enumerated().map { Port("o\($0)", $1) }

        let subject = "\(self) on \(units.name)"
        do {
            let (outputs, plan) = try units.run(graph, inputs)
            if form == .constants, plan.notes.contains(where: { $0.name == definition.name }), mustFold {
                return [Failure(subject, "an op over constants was not folded")]
            }
            return zip(outputs, example.results).enumerated().compactMap { index, pair in
                Self.difference(pair.0, pair.1, definition.tolerance).map { Failure("\(subject) result \(index)", $0) }
            }
        } catch let error as GraphError where form == .dynamic || form == .symbolic {
            return error.message.isEmpty ? [Failure(subject, "refused without a word")] : []
        } catch {
            return [Failure(subject, "\(error)")]
        }
    }

    /// Ops whose result's size or memory only a run can tell stay.
    private var mustFold: Bool {
        if case .kernel = definition.form { return false }
        if case .weight = definition.form { return false }
        return definition.examples[index].results.allSatisfy { $0.values.count < 1024 }
    }

    static func difference(_ got: TestTensor, _ want: Example.Tensor, _ tolerance: Tolerance) -> String? {
        guard got.shape == want.shape else { return "shape \(got.shape), expected \(want.shape)" }
        guard got.scalar == want.scalar else { return "\(got.scalar.name), expected \(want.scalar.name)" }
        let values = got.doubles
        let expected = TestTensor(want).doubles
        for (index, (a, b)) in zip(values, expected).enumerated() {
            if a.isNaN && b.isNaN || a == b { continue }
            let limit = tolerance.limit(around: b, got.scalar.complexPart ?? got.scalar, expected)
            if !(abs(a - b) <= limit) { return "element \(index) is \(a), expected \(b)" }
        }
        return nil
    }
}

extension Tolerance {
    func limit(around value: Double, _ scalar: ScalarType, _ all: [Double]) -> Double {
        let epsilon = scalar.epsilon
        switch self {
        case .exact: return 0
        case .ulps(let count): return Double(count) * epsilon * max(abs(value), scalar.leastNormal)
        case .sumOfMagnitudes(let factor):
            let largest = all.filter(\.isFinite).map(abs).max() ?? 0
            return factor * epsilon * max(largest, abs(value))
        }
    }
}

extension ScalarType {
    fileprivate var epsilon: Double {
        switch self {
        case .float64: 0x1p-52
        case .float32: 0x1p-23
        case .float16: 0x1p-10
        case .bfloat16: 0x1p-7
        case .float8e4m3fn: 0x1p-3
        case .float8e5m2: 0x1p-2
        default: 0
        }
    }
    fileprivate var leastNormal: Double {
        switch self {
        case .float64: 0x1p-1022
        case .float32, .bfloat16: 0x1p-126
        default: 0x1p-14
        }
    }
}
