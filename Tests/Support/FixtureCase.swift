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
        var outputs: [(name: String, file: String)]
        var statesAfter: [(name: String, file: String)]
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
                    states.append(state, carried[state])
                } else {
                    let type = try scalar(of: function.descriptor.stateDescriptor(of: state), state)
                    states.append(state, try array(source, as: type, answers: answers))
                }
            }
            let answer = try await states.run(function, inputs)
            for (output, file) in step.outputs {
                let subject = "\(name) step \(index) output '\(output)'"
                guard let got = answer[output] else {
                    failures.append(Failure(subject, "is missing"))
                    continue
                }
                failures += try difference(got, file).map { [Failure(subject, $0)] } ?? []
            }
            for (state, file) in step.statesAfter {
                guard let got = states[state] else { continue }
                failures += try difference(got, file).map { [Failure("\(name) step \(index) state '\(state)'", $0)] } ?? []
            }
            carried = states.arrays
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

    private func difference(_ got: NDArray, _ file: String) throws -> String? {
        let stored = try NumpyArray(contentsOf: folder.appendingPathComponent(file))
        guard got.shape == stored.shape else { return "has shape \(got.shape), expected \(stored.shape)" }
        // A source framework may have recorded more digits than the function gives.
        let isWider = stored.dtype == .float64 && got.scalarType.isFloat
        let type = isWider ? .float64 : got.scalarType
        let want = TestTensor(type, stored.shape, kernelBytes: try stored.kernelBytes(as: type))
        let found = TestTensor(got.scalarType, got.shape, kernelBytes: got.kernelBytes)
        return tolerance.difference(found.doubles, want.doubles, isExact: !got.scalarType.isFloat && !got.scalarType.isComplex)
    }
}

/// State arrays of one step, by name; a run mutates them.
private struct StateArrays {
    private var names: [String] = []
    private var values: [NDArray] = []

    mutating func append(_ name: String, _ array: NDArray?) {
        guard let array else { return }
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
