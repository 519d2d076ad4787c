import CoreAI
import CoreAIBackend
import CoreAIDelegates
import Foundation

/// A loaded function with all that its runs start from.
struct Session {
    let model: AIModel
    let function: InferenceFunction
    /// Loading the model and the function.
    let loadSeconds: Double
    /// The part of it that makes the function ready on its devices: packing weights above all.
    let functionSeconds: Double
    /// In the function's order.
    let inputs: [Argument]
    let states: [Argument]

    struct Argument {
        enum Origin {
            case file(String)
            case seed(Int)
            case zeros
        }
        let name: String
        let array: NDArray
        let origin: Origin
        /// The free sizes that nobody chose.
        var assumedSizes = 0
    }

    struct Results {
        var outputs: [(name: String, array: NDArray)] = []
        var states: [(name: String, array: NDArray)] = []
    }

    /// Loads what the arguments name.
    init(_ arguments: Arguments) async throws {
        let start = ContinuousClock.now
        model = try await loadModel(arguments)
        let name = try model.functionName(arguments.text(.function))
        let modelEnd = ContinuousClock.now
        guard let function = try model.loadFunction(named: name) else { throw Failure("no function '\(name)'") }
        self.function = function
        let end = ContinuousClock.now
        loadSeconds = (end - start).seconds
        functionSeconds = (end - modelEnd).seconds
        (inputs, states) = try Self.arguments(for: function.descriptor, arguments)
    }

    /// The model's phases, then the function's.
    var loadPhases: [(name: String, seconds: Double)] {
        model.loadReport.phases.map { ($0.name, $0.seconds) } + [("load function", functionSeconds)]
    }

    var filledInputs: [Argument] { inputs.filter { if case .seed = $0.origin { true } else { false } } }

    func run() async throws -> Results { try await timedRun().results }

    /// Runs from the same inputs and states each time.
    /// - Returns: the results, and how long the function ran.
    func timedRun() async throws -> (results: Results, seconds: Double) {
        var results = Results()
        results.states = states.map { ($0.name, $0.array) }
        // A view of a shared array copies it; `states` stay as they are.
        var views = InferenceFunction.MutableViews()
        for index in results.states.indices {
            views.insert(&results.states[index].array, for: results.states[index].name)
        }
        let values = Dictionary(inputs.map { ($0.name, $0.array) }, uniquingKeysWith: { first, _ in first })
        let start = ContinuousClock.now
        var outputs: InferenceFunction.Outputs
        do {
            outputs = try await function.run(inputs: values, states: views)
        } catch  where !filledInputs.isEmpty {
            let names = filledInputs.map { "'\($0.name)'" }.list()
            throw Failure("\(describe(error)) (with made-up values for \(names); --input gives real ones)")
        }
        let seconds = (ContinuousClock.now - start).seconds
        for name in function.descriptor.outputNames {
            guard let value = outputs.remove(name) else { continue }
            guard let array = value.ndArray else {
                throw Failure("output '\(name)' is an image; only arrays can be shown")
            }
            results.outputs.append((name, array))
        }
        return (results, seconds)
    }
}

extension Session {
    private static func arguments(
        for function: InferenceFunctionDescriptor, _ arguments: Arguments
    ) throws -> (inputs: [Argument], states: [Argument]) {
        for (option, role, known) in [
            (Option.input, "input", function.inputNames), (.state, "state", function.stateNames),
            (.shape, "input or state", function.inputNames + function.stateNames),
        ] {
            for (name, _) in arguments.named(option) where !known.contains(name) {
                let accepted = known.isEmpty ? "it has none" : "it has " + known.map { "'\($0)'" }.list()
                throw Failure(
                    "function '\(function.name)' has no \(role) '\(name)'\(didYouMean(name, among: known)) (\(accepted))"
                )
            }
        }
        let files = pairs(arguments, .input)
        let stateFiles = pairs(arguments, .state)
        let shapes = pairs(arguments, .shape)
        let seed = arguments.count(.seed) ?? 0
        let inputs = try function.inputNames.map { name in
            let descriptor = try array(function.inputDescriptor(of: name), "input '\(name)'")
            return try argument(name, "input", descriptor, file: files[name], shape: shapes[name], seed: seed)
        }
        let states = try function.stateNames.map { name in
            let descriptor = try array(function.stateDescriptor(of: name), "state '\(name)'")
            return try argument(name, "state", descriptor, file: stateFiles[name], shape: shapes[name], seed: nil)
        }
        return (inputs, states)
    }

    private static func pairs(_ arguments: Arguments, _ option: Option) -> [String: String] {
        Dictionary(arguments.named(option).map { ($0.name, $0.value) }, uniquingKeysWith: { first, _ in first })
    }

    private static func array(_ descriptor: InferenceValue.Descriptor?, _ role: String) throws -> NDArrayDescriptor {
        guard case .ndArray(let array)? = descriptor else {
            throw Failure("\(role) is an image; only arrays can be given")
        }
        return array
    }

    /// - Parameter seed: nil starts from zeros.
    private static func argument(
        _ name: String, _ kind: String, _ descriptor: NDArrayDescriptor, file: String?, shape: String?, seed: Int?
    ) throws -> Argument {
        let role = "\(kind) '\(name)'"
        if let file {
            guard shape == nil else { throw Failure("\(role): its sizes come from \(file); leave --shape out") }
            return Argument(
                name: name, array: try NDArray(contentsOf: file, as: descriptor, role: role), origin: .file(file))
        }
        let sizes =
            try shape.map { try parse(shape: $0, for: descriptor, role) } ?? descriptor.shape.map { $0 == -1 ? 1 : $0 }
        try checkMemory(for: sizes, descriptor, role)
        let assumed = shape == nil ? descriptor.shape.count { $0 == -1 } : 0
        let wanted = descriptor.resolvingDynamicDimensions(sizes)
        guard let seed else {
            return Argument(name: name, array: NDArray(descriptor: wanted), origin: .zeros, assumedSizes: assumed)
        }
        return Argument(
            name: name, array: NDArray(fillingFor: wanted, seed: seed, name: name), origin: .seed(seed),
            assumedSizes: assumed)
    }

    /// `1x3x320x320`
    private static func parse(shape text: String, for descriptor: NDArrayDescriptor, _ role: String) throws -> [Int] {
        let sizes = text.split(separator: "x", omittingEmptySubsequences: false).map { Int($0) ?? -1 }
        guard sizes.allSatisfy({ $0 >= 0 }) else {
            throw Failure("\(role): --shape expects sizes as in 1x3x320x320, found '\(text)'")
        }
        guard descriptor.accepts(sizes) else { throw Failure("\(role): expected \(descriptor), found --shape \(text)") }
        return sizes
    }

    private static func checkMemory(for sizes: [Int], _ descriptor: NDArrayDescriptor, _ role: String) throws {
        var byteCount = descriptor.scalarType.byteStride
        for size in sizes {
            let (product, overflow) = byteCount.multipliedReportingOverflow(by: max(size, 1))
            guard !overflow, UInt64(product) <= ProcessInfo.processInfo.physicalMemory else {
                throw Failure(
                    "\(role): \(descriptor.scalarType.name) \(sizes) takes more than the memory of this machine")
            }
            byteCount = product
        }
    }
}

/// Loads the model that the arguments name, with the threads and units they ask for.
func loadModel(_ arguments: Arguments) async throws -> AIModel {
    if let complaint = ProcessorKernels.complaint { throw Failure(complaint) }
    if let threads = arguments.count(.threads) { WorkerPool.shared.setWidth(threads) }
    let options: SpecializationOptions =
        switch arguments.text(.units) {
        case "cpu": .cpuOnly
        case "gpu": SpecializationOptions(preferredComputeUnitKind: .gpu)
        case "neural-engine": SpecializationOptions(preferredComputeUnitKind: .neuralEngine)
        default: .default
        }
    return try await showingProgress("loading \(arguments.model)") {
        try await AIModel(
            contentsOf: URL(fileURLWithPath: arguments.model), options: options, registry: .builtin,
            ignoringHash: arguments.flag(.ignoreHash))
    }
}

extension AIModel {
    /// The function asked for; else `main`, or the only one there is.
    func functionName(_ wanted: String?) throws -> String {
        let names = functionNames
        let known = names.map { "'\($0)'" }.list()
        if let wanted {
            guard !names.contains(wanted) else { return wanted }
            throw Failure(
                "the model has no function '\(wanted)'\(didYouMean(wanted, among: names)) (it has \(names.isEmpty ? "none" : known))"
            )
        }
        if names.contains("main") { return "main" }
        guard let first = names.first else { throw Failure("the model has no functions") }
        guard names.count == 1 else {
            throw Failure("the model has no function 'main'; choose one with --function: \(known)")
        }
        return first
    }
}
