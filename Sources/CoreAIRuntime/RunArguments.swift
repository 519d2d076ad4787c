import CoreAIGraph

/// Checked arguments of one run, in the descriptor's order.
struct RunArguments: Sendable {
    var inputs: [ArrayReference]
    var states: [ArrayReference]
    /// Nil for an output that gets a new array.
    var outputs: [ArrayReference?]
}

/// What is known of an argument before its value is: a size is -1 until then.
enum ArgumentType: Sendable {
    case array(ScalarType, shape: [Int])
    case image

    init(_ argument: Argument) {
        switch argument {
        case .array(let reference): self = .array(reference.scalarType, shape: reference.layout.shape)
        case .image: self = .image
        }
    }
}

extension InferenceFunctionDescriptor {
    /// Throws `RunError` for the first argument that does not fit, in the order inputs, states, output views.
    func check(
        inputs: [String: ArgumentType], states: [String: ArgumentType], outputViews: [String: ArgumentType]
    ) throws {
        try check(inputs, against: self.inputs, role: "input", isComplete: true)
        try check(states, against: self.states, role: "state", isComplete: true)
        try check(outputViews, against: outputs, role: "output", isComplete: false)
    }

    /// The arguments in order, once they are checked.
    func arguments(
        inputs: [String: Argument], states: [String: Argument], outputViews: [String: Argument]
    ) throws -> RunArguments {
        try check(
            inputs: inputs.mapValues(ArgumentType.init), states: states.mapValues(ArgumentType.init),
            outputViews: outputViews.mapValues(ArgumentType.init))
        return RunArguments(
            inputs: self.inputs.compactMap { inputs[$0.name]?.array },
            states: self.states.compactMap { states[$0.name]?.array },
            outputs: outputs.map { outputViews[$0.name]?.array })
    }

    private func check(
        _ given: [String: ArgumentType], against entries: [Entry], role: String, isComplete: Bool
    ) throws {
        if entries.count(where: { given[$0.name] != nil }) < given.count,
            let unknown = given.keys.filter({ name in !entries.contains { $0.name == name } }).min()
        {
            throw RunError.unknown(unknown, accepted: entries.map(\.name), function: name, role: role)
        }
        for (argument, expected) in entries {
            guard let found = given[argument] else {
                if isComplete {
                    throw RunError(
                        .missing, function: name, role: role, argument: argument, expected: expected.text,
                        found: "nothing")
                }
                if case .image = expected { throw imagesUnsupported(argument, role, expected) }
                continue
            }
            try check(found, against: expected, argument: argument, role: role)
        }
    }

    private func check(
        _ found: ArgumentType, against expected: InferenceValue.Descriptor, argument: String, role: String
    ) throws {
        func error(_ kind: RunError.Kind, found: String) -> RunError {
            RunError(kind, function: name, role: role, argument: argument, expected: expected.text, found: found)
        }
        switch (expected, found) {
        case (.image, .image): throw imagesUnsupported(argument, role, expected)
        case (.ndArray, .image): throw error(.kind, found: "an image")
        case (.image, .array(let scalarType, let shape)): throw error(.kind, found: describe(scalarType, shape))
        case (.ndArray(let descriptor), .array(let scalarType, let shape)):
            let text = describe(scalarType, shape)
            guard descriptor.scalarType == scalarType else { throw error(.scalarType, found: text) }
            guard descriptor.rank == shape.count else { throw error(.rank, found: text) }
            guard zip(descriptor.shape, shape).allSatisfy({ $0 == -1 || $1 == -1 || $0 == $1 }) else {
                throw error(.shape, found: text)
            }
        }
    }

    private func imagesUnsupported(
        _ argument: String, _ role: String, _ expected: InferenceValue.Descriptor
    ) -> RunError {
        RunError(
            .unsupported, function: name, role: role, argument: argument, expected: expected.text,
            found: "images are not supported by this runtime yet")
    }
}

extension Argument {
    var array: ArrayReference? { if case .array(let reference) = self { reference } else { nil } }
}

extension InferenceValue.Descriptor {
    /// `int32 [1, ?]`, `image 640x480 (BGRA)`
    var text: String {
        switch self {
        case .ndArray(let descriptor): descriptor.description
        case .image(let image): "image \(image.width)x\(image.height) (\(fourCharacters(image.pixelFormatType)))"
        }
    }
}

private func fourCharacters(_ code: OSType) -> String {
    String(
        String.UnicodeScalarView(
            [24, 16, 8, 0].map { Unicode.Scalar(UInt8(truncatingIfNeeded: code >> OSType($0))) }))
}
