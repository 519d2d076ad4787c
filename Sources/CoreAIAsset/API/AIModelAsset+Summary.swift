import CoreAIGraph

extension AIModelAsset {
    public struct Summary: Sendable {
        /// The functions written to be called, in stored order: private graphs and those that stand for a composite are left out.
        public private(set) var functions: [FunctionDescriptor]
        /// How many scalars of each type the program stores, the most first. Empty without statistics.
        public private(set) var storageTypes: [StorageType]
        /// The types operations work on, by name. Empty without statistics.
        public private(set) var computeTypes: [String]
        /// How often each operation occurs, private graphs and nested regions included, the most first. Empty without
        /// statistics.
        public private(set) var operationDistribution: [OperationCount]

        public struct StorageType: Hashable, Sendable {
            public private(set) var typeName: String
            public private(set) var count: Int
            init(_ typeName: String, _ count: Int) {
                self.typeName = typeName
                self.count = count
            }
        }

        public struct OperationCount: Hashable, Sendable {
            public private(set) var operationName: String
            public private(set) var count: Int
            init(_ operationName: String, _ count: Int) {
                self.operationName = operationName
                self.count = count
            }
        }
    }

    public struct FunctionDescriptor: Hashable, Sendable {
        public private(set) var name: String
        public private(set) var inputs: [ValueDescriptor]
        /// Values that the caller owns and a call changes in place.
        public private(set) var states: [ValueDescriptor]
        public private(set) var outputs: [ValueDescriptor]
    }

    public struct ValueDescriptor: Hashable, Sendable {
        public private(set) var name: String
        /// For example `NDArray (Float32, 1 × 3 × ? × ?)`; `?` is a size that a call chooses.
        public private(set) var typeName: String
        init(_ name: String, _ typeName: String) {
            self.name = name
            self.typeName = typeName
        }
    }
}

extension AIModelAsset.Summary {
    package init(_ program: Program, includingStatistics: Bool) {
        functions = program.graphs.filter { !$0.isPrivate && $0.composite == nil }.map(
            AIModelAsset.FunctionDescriptor.init)
        let statistics = includingStatistics ? Statistics(program) : Statistics()
        func ranked(_ counts: [String: Int]) -> [(key: String, value: Int)] {
            counts.sorted { ($1.value, $0.key) < ($0.value, $1.key) }
        }
        storageTypes = ranked(statistics.storage).map { StorageType($0.key, $0.value) }
        computeTypes = statistics.computed.sorted()
        operationDistribution = ranked(statistics.operations).map { OperationCount($0.key, $0.value) }
    }

    private struct Statistics {
        var storage: [String: Int] = [:]
        var computed: Set<String> = []
        var operations: [String: Int] = [:]
        /// Where the constants counted so far lie: those that share an attribute are stored once.
        private var seen: Set<UInt> = []

        init() {}

        init(_ program: Program) {
            for graph in program.graphs { add(graph) }
        }

        private mutating func add(_ graph: Graph) {
            var types: Set<ValueType> = []
            defer { computed.formUnion(types.compactMap(\.computeName)) }
            for op in graph.ops {
                // What a cast reads is not computed with.
                let operands = op.name.withoutVersion == "primitive.cast" ? [] : op.operands
                types.formUnion((operands + op.results).map { graph[$0].type })
                operations[op.name.withoutVersion.lastComponent, default: 0] += 1
                // The condition ends a region of the loop and is no op of ours.
                if op.name.withoutVersion == "controlflow.while" { operations["condition", default: 0] += 1 }
                if case .elements(let constant)? = op[attribute: "value"], let result = op.results.first {
                    store(constant, graph[result].type)
                }
                for region in op.regions { add(region) }
            }
        }

        private mutating func store(_ constant: Constant, _ type: ValueType) {
            guard let tensor = type.tensor, let shape = tensor.staticShape,
                !shape.contains(0), seen.insert(UInt(bitPattern: constant.bytes.unsafeBaseAddress)).inserted
            else { return }
            storage[tensor.scalar.displayName, default: 0] += shape.reduce(1, &*)
        }
    }
}

extension AIModelAsset.FunctionDescriptor {
    init(_ graph: Graph) {
        name = graph.name
        func describe(_ ports: [Port]) -> [AIModelAsset.ValueDescriptor] {
            ports.map { AIModelAsset.ValueDescriptor($0.name, graph[$0.value].type.summaryName) }
        }
        inputs = describe(graph.inputs.filter { !graph[$0.value].type.isHandle })
        states = describe(graph.inputs.filter { graph[$0.value].type.isHandle })
        outputs = describe(graph.outputs.filter { graph[$0.value].type != .token })
    }
}

extension String {
    /// `add` of `primitive.add`.
    fileprivate var lastComponent: String {
        lastIndex(of: ".").map { String(self[index(after: $0)...]) } ?? self
    }
}

extension ValueType {
    fileprivate var isHandle: Bool { if case .handle = self { true } else { false } }

    fileprivate var summaryName: String {
        switch self {
        case .tensor(let type), .sparse(let type, _):
            let sizes = type.shape.map(\.description).joined(separator: " × ")
            return "NDArray (\(type.scalar.displayName)\(sizes.isEmpty ? "" : ", " + sizes))"
        case .image(let image):
            return "Image (\(image.width) × \(image.height), \(image.formatName))"
        case .handle(let inner): return inner.summaryName
        case .token: return "Token"
        }
    }

    fileprivate var computeName: String? {
        switch self {
        case .tensor(let type), .sparse(let type, _): type.scalar.displayName
        case .image: "image"
        case .handle(let inner): inner.computeName
        case .token: nil
        }
    }
}

extension ImageType {
    fileprivate var formatName: String {
        switch pixelFormat {
        case 24: "24RGB"
        case 32: "32ARGB"
        case 0x4247_5241: "32BGRA"
        case 0x7934_3230: "420YpCbCr8Planar"
        default:
            String(
                decoding: stride(from: 24, through: 0, by: -8).map { UInt8(truncatingIfNeeded: pixelFormat >> $0) },
                as: UTF8.self)
        }
    }
}
