import CoreAI
import Foundation
import Glibc

/// A process of its own for tests that look at what a process takes: memory and threads.
///
///     EnduranceWorker crowd MODEL TASKS RUNS WAVES    many tasks run one function at once, again and again
///     EnduranceWorker cycles MODEL COUNT              load, run, drop
///     EnduranceWorker threads [COUNT]                 how many threads compute; with COUNT, after asking for so many
///
/// Prints a line `kibibytes wrong` after each wave or cycle: resident memory, and outputs so far that differ from the
/// first run's.
struct Usage: Error {}

@_silgen_name("malloc_trim") private func trimHeap(_ padding: Int) -> Int32

/// What the process holds, without what the allocator keeps back for later.
func residentKibibytes() -> Int {
    _ = trimHeap(0)
    let text = (try? String(contentsOfFile: "/proc/self/statm", encoding: .utf8)) ?? ""
    let pages = text.split(separator: " ").compactMap { Int($0) }
    return (pages.count > 1 ? pages[1] : 0) * (sysconf(Int32(_SC_PAGESIZE)) / 1024)
}

/// Inputs that depend on nothing but the descriptor: small integers, free sizes 1.
func inputs(of function: InferenceFunction) -> [String: NDArray] {
    var arrays: [String: NDArray] = [:]
    for name in function.descriptor.inputNames {
        guard case .ndArray(let descriptor)? = function.descriptor.inputDescriptor(of: name) else { continue }
        let sizes = descriptor.shape.map { $0 == -1 ? 1 : $0 }
        var array = NDArray(descriptor: descriptor.resolvingDynamicDimensions(sizes))
        if descriptor.scalarType == .float32 {
            array = NDArray(scalars: (0..<sizes.reduce(1, *)).map { Float($0 * 31 % 97) / 48 - 1 }, shape: sizes)
        }
        arrays[name] = array
    }
    return arrays
}

/// One run from fresh states; the bytes of all outputs.
func run(_ function: InferenceFunction, _ inputs: [String: NDArray]) async throws -> [Data] {
    var states = function.descriptor.stateNames.compactMap { name -> (String, NDArray)? in
        guard case .ndArray(let descriptor)? = function.descriptor.stateDescriptor(of: name) else { return nil }
        return (name, NDArray(descriptor: descriptor.resolvingDynamicDimensions(descriptor.shape.map { max($0, 1) })))
    }
    var views = InferenceFunction.MutableViews()
    for index in states.indices { views.insert(&states[index].1, for: states[index].0) }
    var outputs = try await function.run(inputs: inputs, states: views)
    return function.descriptor.outputNames.compactMap { name in
        guard let array = outputs.remove(name)?.ndArray else { return nil }
        return array.rawView().bytes.withUnsafeBytes { Data($0) }
    }
}

func load(_ path: String) async throws -> InferenceFunction {
    let model = try await AIModel(contentsOf: URL(fileURLWithPath: path))
    guard let name = model.functionNames.first, let function = try model.loadFunction(named: name) else {
        throw Usage()
    }
    return function
}

func crowd(_ path: String, tasks: Int, runs: Int, waves: Int) async throws {
    let function = try await load(path)
    let inputs = inputs(of: function)
    let expected = try await run(function, inputs)
    var wrong = 0
    for _ in 0..<waves {
        wrong += try await withThrowingTaskGroup(of: Int.self) { group in
            for _ in 0..<tasks {
                group.addTask {
                    var wrong = 0
                    for _ in 0..<runs where try await run(function, inputs) != expected { wrong += 1 }
                    return wrong
                }
            }
            return try await group.reduce(0, +)
        }
        print(residentKibibytes(), wrong)
    }
}

func cycles(_ path: String, count: Int) async throws {
    var expected: [Data]?
    var wrong = 0
    for _ in 0..<count {
        let function = try await load(path)
        let found = try await run(function, inputs(of: function))
        if let expected, expected != found { wrong += 1 }
        expected = found
        print(residentKibibytes(), wrong)
    }
}

let words = Array(CommandLine.arguments.dropFirst())
let numbers = words.dropFirst(2).compactMap { Int($0) }
switch (words.first, words.count) {
case ("crowd", 5): try await crowd(words[1], tasks: numbers[0], runs: numbers[1], waves: numbers[2])
case ("cycles", 3): try await cycles(words[1], count: numbers[0])
case ("threads", 1): print(InferenceFunction.processorThreads)
case ("threads", 2):
    InferenceFunction.processorThreads = Int(words[1]) ?? 0
    print(InferenceFunction.processorThreads)
default: throw Usage()
}
