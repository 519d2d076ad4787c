public import CoreAIGraph

/// What a function expects or gives: names, in the program's order, with their descriptors.
public struct InferenceFunctionDescriptor: Sendable {
    package typealias Entry = (name: String, value: InferenceValue.Descriptor)

    public let name: String
    package let inputs: [Entry]
    package let states: [Entry]
    package let outputs: [Entry]

    package init(name: String, inputs: [Entry], states: [Entry] = [], outputs: [Entry]) {
        self.name = name
        self.inputs = inputs
        self.states = states
        self.outputs = outputs
    }

    public var inputCount: Int { inputs.count }
    public var outputCount: Int { outputs.count }
    public var inputNames: [String] { inputs.map(\.name) }
    public var stateNames: [String] { states.map(\.name) }
    public var outputNames: [String] { outputs.map(\.name) }

    public func inputDescriptor(of inputName: String) -> InferenceValue.Descriptor? {
        inputs.first { $0.name == inputName }?.value
    }
    public func stateDescriptor(of stateName: String) -> InferenceValue.Descriptor? {
        states.first { $0.name == stateName }?.value
    }
    public func outputDescriptor(of outputName: String) -> InferenceValue.Descriptor? {
        outputs.first { $0.name == outputName }?.value
    }
}

/// The scalar type and shape of an array value; -1 stands for a size that each run chooses.
public struct NDArrayDescriptor: Sendable, Equatable {
    public let scalarType: NDArray.ScalarType
    public let shape: [Int]
    public let interleaveLayout: NDArray.InterleaveLayout?
    private let givenStrides: [Int]?

    /// - Parameter preferredStrides: for a static shape, strides other than the default ones.
    package init(
        scalarType: NDArray.ScalarType, shape: [Int], interleaveLayout: NDArray.InterleaveLayout? = nil,
        preferredStrides: [Int]? = nil
    ) {
        self.scalarType = scalarType
        self.shape = shape
        self.interleaveLayout = interleaveLayout
        givenStrides = preferredStrides
    }

    public var rank: Int { shape.count }
    public var hasDynamicShape: Bool { shape.contains(-1) }

    /// The descriptor with `newShape`, which has the same rank and differs only where this shape is -1. Traps
    /// otherwise.
    public func resolvingDynamicDimensions(_ newShape: [Int]) -> NDArrayDescriptor {
        demand(
            newShape.count == rank,
            "NDArrayDescriptor: shape \(newShape) has rank \(newShape.count), the descriptor has rank \(rank)")
        for (axis, (old, new)) in zip(shape, newShape).enumerated() {
            demand(
                new >= 0 && (old == -1 || old == new),
                "NDArrayDescriptor: shape at dimension \(axis) (\(new)) is not a valid substitution for \(old) in \(shape)"
            )
        }
        return NDArrayDescriptor(
            scalarType: scalarType, shape: newShape, interleaveLayout: interleaveLayout,
            preferredStrides: hasDynamicShape ? nil : givenStrides)
    }

    /// In elements. Traps for a dynamic shape.
    public var preferredStrides: [Int] {
        checkStatic("preferredStrides")
        return givenStrides
            ?? ArrayLayout.defaultStrides(scalarType, shape: shape, interleave: interleaveLayout)
    }

    /// The bytes from the first to the last element with the preferred strides. Traps for a dynamic shape.
    public var minimumByteCount: Int {
        checkStatic("minimumByteCount")
        return ArrayLayout(
            scalarType, shape: shape, strides: preferredStrides, interleave: interleaveLayout
        ).byteCount(scalarType)
    }

    private func checkStatic(_ property: String) {
        demand(
            !hasDynamicShape,
            "NDArrayDescriptor: \(property) of \(self), whose shape is dynamic; use resolvingDynamicDimensions(_:) first"
        )
    }
}

extension NDArrayDescriptor: CustomStringConvertible {
    /// `int32 [1, ?]`
    public var description: String { describe(scalarType, shape) }
}

func describe(_ scalarType: ScalarType, _ shape: [Int]) -> String {
    "\(scalarType.name) \(describe(shape))"
}

func describe(_ shape: [Int]) -> String {
    "[\(shape.map { $0 == -1 ? "?" : String($0) }.joined(separator: ", "))]"
}

/// The size and pixel format of an image value.
public struct ImageDescriptor: Sendable, Equatable {
    public let height: Int
    public let width: Int
    public let pixelFormatType: OSType

    package init(height: Int, width: Int, pixelFormatType: OSType) {
        self.height = height
        self.width = width
        self.pixelFormatType = pixelFormatType
    }
}
