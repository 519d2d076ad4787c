import CoreAI
import CoreAIGraph
package import CoreAIRuntime
package import Foundation
import NumpyFiles

/// A folder with an asset, inputs and the outputs recorded for them: steps to make in order on one loaded model.
package struct FixtureCase: Sendable, CustomStringConvertible {
    package let name: String
    package let asset: URL
    let folder: URL
    let tolerance: FixtureTolerance
    let steps: [Step]

    struct Step: Sendable {
        enum Source: Sendable {
            case file(String)
            case output(step: Int, name: String)
            case zeros([Int])
            case carry
        }
        var function: String
        var inputs: [(name: String, source: Source)]
        var states: [(name: String, source: Source)]
        var outputs: [Recording]
        var statesAfter: [Recording]

        struct Recording: Sendable {
            var name: String
            var file: String
            /// The true type, which a file may hold as another.
            var scalar: ScalarType
        }
    }

    /// Opens an asset and answers its functions by name.
    package typealias Loader = @Sendable (URL) async throws -> @Sendable (String) throws -> InferenceFunction?

    package var description: String { name }

    /// The cases below a folder, by name.
    package static func all(in folder: URL) throws -> [FixtureCase] {
        let names = try FileManager.default.contentsOfDirectory(atPath: folder.path).sorted()
        return try names.compactMap { name in
            let place = folder.appendingPathComponent(name)
            let file = place.appendingPathComponent("case.json")
            guard FileManager.default.fileExists(atPath: file.path) else { return nil }
            return try FixtureCase(name, place, try Data(contentsOf: file))
        }
    }

    // MARK: Running

    /// Loads the asset and makes the steps.
    /// - Returns: what differs from the recordings beyond the tolerance. A case without steps only has to load.
    /// - Throws: what loading or running throws.
    package func failures(_ load: Loader) async throws -> [Failure] {
        let functions = try await load(asset)
        var loaded: [String: InferenceFunction] = [:]
        var answers: [[String: NDArray]] = []
        var carried: [String: NDArray] = [:]
        var failures: [Failure] = []
        for (index, step) in steps.enumerated() {
            guard let function = try loaded[step.function] ?? functions(step.function) else {
                return failures + [Failure("\(name) step \(index)", "no function '\(step.function)'")]
            }
            loaded[step.function] = function
            var inputs: [String: NDArray] = [:]
            for (input, source) in step.inputs {
                inputs[input] = try array(
                    source, as: scalar(of: function.descriptor.inputDescriptor(of: input), input), answers: answers)
            }
            var states = StateArrays()
            for (state, source) in step.states {
                if case .carry = source {
                    guard let array = carried[state] else {
                        throw FixtureError("\(name) step \(index): nothing to carry as '\(state)'")
                    }
                    states.append(state, array)
                } else {
                    let type = try scalar(of: function.descriptor.stateDescriptor(of: state), state)
                    states.append(state, try array(source, as: type, answers: answers))
                }
            }
            let answer = try await states.run(function, inputs)
            let recorded =
                step.outputs.map { ("output", $0, answer[$0.name]) } + step.statesAfter.map { ("state", $0, states[$0.name]) }
            for (kind, recording, got) in recorded {
                let subject = "\(name) step \(index) \(kind) '\(recording.name)'"
                guard let got else {
                    failures.append(Failure(subject, "is missing"))
                    continue
                }
                failures += try difference(got, recording).map { [Failure(subject, $0)] } ?? []
            }
            carried.merge(states.arrays) { $1 }
            answers.append(answer)
        }
        return failures
    }

    private func scalar(of descriptor: InferenceValue.Descriptor?, _ argument: String) throws -> ScalarType {
        guard case .ndArray(let array)? = descriptor else {
            throw FixtureError("\(name): the function has no array '\(argument)'")
        }
        return array.scalarType
    }

    private func array(_ source: Step.Source, as scalar: ScalarType, answers: [[String: NDArray]]) throws -> NDArray {
        switch source {
        case .file(let file):
            let stored = try NumpyArray(contentsOf: folder.appendingPathComponent(file))
            return NDArray(
                kernelBytes: try stored.kernelBytes(as: scalar), shape: stored.shape, scalarType: scalar)
        case .output(let step, let output):
            guard answers.indices.contains(step), let array = answers[step][output] else {
                throw FixtureError("\(name): step \(step) gave no '\(output)'")
            }
            return array
        case .zeros(let shape): return NDArray(shape: shape, scalarType: scalar)
        case .carry: throw FixtureError("\(name): nothing to carry")
        }
    }

    private func difference(_ got: NDArray, _ recording: Step.Recording) throws -> String? {
        let stored = try NumpyArray(contentsOf: folder.appendingPathComponent(recording.file))
        guard got.shape == stored.shape else { return "has shape \(got.shape), expected \(stored.shape)" }
        // A source framework may have recorded more digits than the function gives.
        let type = recording.scalar
        guard got.scalarType == type || (type == .float64 && got.scalarType.isFloat) else {
            return "is \(got.scalarType.name), expected \(type.name)"
        }
        let wanted = try stored.kernelBytes(as: type)
        let found = got.kernelBytes
        if !type.isFloat && !type.isComplex { return exactDifference(found, wanted, type) }
        return tolerance.difference(
            TestTensor(got.scalarType, got.shape, kernelBytes: found).doubles,
            TestTensor(type, got.shape, kernelBytes: wanted).doubles)
    }

    /// Bytes tell integers apart that are one number as `Double`.
    private func exactDifference(_ got: Data, _ want: Data, _ scalar: ScalarType) -> String? {
        let size = scalar.byteStride
        let (a, b) = ([UInt8](got), [UInt8](want))
        guard a.count == b.count else { return "has \(a.count) bytes, expected \(b.count)" }
        func number(_ bytes: [UInt8], _ index: Int) -> Int128 {
            var value: Int128 = scalar.isSignedInteger && bytes[(index + 1) * size - 1] >= 128 ? -1 : 0
            for byte in bytes[index * size..<(index + 1) * size].reversed() { value = value << 8 | Int128(byte) }
            return value
        }
        let wrong = (0..<a.count / size).filter { number(a, $0) != number(b, $0) }
        let worst = wrong.max { (number(a, $0) &- number(b, $0)).magnitude < (number(a, $1) &- number(b, $1)).magnitude }
        guard let worst else { return nil }
        return "\(wrong.count) of \(a.count / size) elements differ; element \(worst) is \(number(a, worst)), expected \(number(b, worst))"
    }
}

/// State arrays of one step, by name; a run mutates them.
private struct StateArrays {
    private var names: [String] = []
    private var values: [NDArray] = []

    mutating func append(_ name: String, _ array: NDArray) {
        names.append(name)
        values.append(array)
    }

    subscript(name: String) -> NDArray? { names.firstIndex(of: name).map { values[$0] } }
    var arrays: [String: NDArray] { Dictionary(uniqueKeysWithValues: zip(names, values)) }

    mutating func run(_ function: InferenceFunction, _ inputs: [String: NDArray]) async throws -> [String: NDArray] {
        var views = InferenceFunction.MutableViews()
        for index in names.indices { views.insert(&values[index], for: names[index]) }
        var outputs = try await function.run(inputs: inputs, states: views)
        var answer: [String: NDArray] = [:]
        for name in function.descriptor.outputNames { answer[name] = outputs.remove(name)?.ndArray }
        return answer
    }
}

package struct FixtureError: Error, CustomStringConvertible {
    package var description: String
    init(_ description: String) { self.description = description }
}

extension TestTensor {
    init(_ scalar: ScalarType, _ shape: [Int], kernelBytes: Data) {
        self.init(scalar, shape, bytes: Bytes(copying: kernelBytes))
    }
}
