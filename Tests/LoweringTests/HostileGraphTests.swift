import CoreAIBackend
import CoreAIGraph
import CoreAIOps
import CoreAITestSupport
import OpenBLASBackend
import ReferenceBackend
import Testing

/// Numbers from a file may be anything: a graph is answered as the reference answers it, or refused in words; nothing traps.
@Suite struct HostileGraphTests {
    private static let unknown = ValueType.tensor(TensorType(.float32, Array(repeating: .unknown, count: 4)))

    /// A convolution of ones by ones.
    private func convolution(
        _ x: [Int], _ weights: [Int], stride: [Int] = [1, 1], dilation: [Int] = [1, 1], groups: Int = 1,
        pads: [Int]? = nil
    ) -> Graph {
        var graph = Graph(name: "main")
        var value = graph.input(x)
        if let pads {
            let operands = [value, graph.integers([0, 0, 0, 0] + pads), graph.splat([], 0)]
            let mode = NamedAttribute("padding_mode", .word("constant"))
            value = graph.append("primitive.pad_v1", operands, [mode], results: [Self.unknown])[0]
        }
        let operands = [
            value, graph.splat(weights, 1), graph.integers(stride), graph.integers(dilation), graph.integer(groups),
        ]
        value = graph.append("primitive.conv2d_v1", operands, results: [Self.unknown])[0]
        graph.outputs = [Port("y", value)]
        return graph
    }

    private func pool(_ window: [Int], _ stride: [Int], _ dilation: [Int]) -> Graph {
        var graph = Graph(name: "main")
        let operands = [graph.input([1, 2, 3, 3])] + [window, stride, dilation].map { graph.integers($0) }
        graph.outputs = [Port("y", graph.append("primitive.sum_pool_2d_v1", operands, results: [Self.unknown])[0])]
        return graph
    }

    private func transposedConvolution(stride: [Int], dilation: [Int], weights: [Int]) -> Graph {
        var graph = Graph(name: "main")
        let operands =
            [graph.input([1, 2, 1, 1]), graph.splat(weights, 1)]
            + [stride, [0, 0], dilation, [0, 0]].map { graph.integers($0) } + [graph.integer(1)]
        graph.outputs = [Port("y", graph.append("primitive.conv_transpose2d_v1", operands, results: [Self.unknown])[0])]
        return graph
    }

    /// Queries of one depth over keys and values of another count.
    private func attention(queries: Int, keys: Int, depth: Int, batch: Int) -> Graph {
        var graph = Graph(name: "main")
        let (q, k) = (graph.input([batch, 1, queries, depth]), graph.input([batch, 1, keys, depth]))
        let v = graph.input([batch, 1, keys, 2])
        let turned = graph.append(
            "primitive.transpose_v1", [k, graph.integers([0, 1, 3, 2])], results: [Self.unknown])[0]
        let scores = graph.append("primitive.batch_matmul_v1", [q, turned], results: [Self.unknown])[0]
        let weights = graph.append("softmax_v1", [scores, graph.integer(-1)], results: [Self.unknown])[0]
        graph.outputs = [
            Port("y", graph.append("primitive.batch_matmul_v1", [weights, v], results: [Self.unknown])[0])
        ]
        return graph
    }

    private func product(_ left: [Int], _ right: [Int], isConstant: Bool) -> Graph {
        var graph = Graph(name: "main")
        let operands = [graph.input(left), isConstant ? graph.splat(right, 1) : graph.input(right)]
        let type = ValueType.tensor(
            TensorType(.float32, Array(repeating: .unknown, count: max(left.count, right.count))))
        graph.outputs = [Port("y", graph.append("broadcasting_batch_matmul_v1", operands, results: [type])[0])]
        return graph
    }

    /// A row of one column, known so only at run time, that a constant gain repeats.
    private func repeatedNorm() -> (Graph, [TestTensor]) {
        var graph = Graph(name: "main")
        let row = ValueType.tensor(TensorType(.float32, [.unknown]))
        let x = graph.makeValue(row)
        graph.inputs = [Port("x", x)]
        func op(_ name: String, _ operands: ValueID...) -> ValueID { graph.append(name, operands, results: [row])[0] }
        let squares = op("broadcasting_mul_v1", x, x)
        let mean = op("reduce_mean_v1", squares, graph.integers([0]))
        let spread = op("primitive.rsqrt_v1", op("broadcasting_add_v1", mean, graph.splat([], 0.5)))
        let scaled = op("broadcasting_mul_v1", op("broadcasting_mul_v1", x, spread), graph.splat([16], 2))
        graph.outputs = [Port("y", scaled)]
        return (graph, [TestTensor.ones([1])])
    }

    private var graphs: [(name: String, graph: Graph)] {
        [
            ("strides beyond 32 bits", convolution([1, 2, 3, 3], [2, 2, 3, 3], stride: [1 << 31, 1 << 62])),
            ("dilations beyond 32 bits", convolution([1, 2, 3, 3], [2, 2, 1, 1], dilation: [1 << 40, .max])),
            ("a window beyond the image", convolution([1, 2, 3, 3], [2, 2, 5, 5])),
            ("a window of padding", convolution([1, 2, 1, 1], [2, 2, 90, 90], pads: [89, 0, 50, 39])),
            ("pads near the largest number", convolution([1, 2, 1, 1], [2, 2, 1, 1], pads: [.max, .max, 0, 0])),
            ("very many groups", convolution([1, 1 << 17, 1, 1], [1 << 16, 2, 1, 1], groups: 1 << 16)),
            ("more weights than memory", convolution([1, 1 << 20, 1, 1], [1 << 20, 1 << 20, 1, 1])),
            ("no channels", convolution([1, 0, 3, 3], [2, 0, 1, 1])),
            ("no outputs", convolution([1, 2, 3, 3], [0, 2, 1, 1])),
            ("an empty batch of endless images", convolution([0, 2, 1 << 40, 1 << 40], [3, 2, 3, 3])),
            ("a pool's strides beyond 32 bits", pool([2, 2], [1 << 33, 1 << 62], [1, 1])),
            ("a pool's dilations beyond 32 bits", pool([1, 1], [1, 1], [1 << 33, .max])),
            ("a pool's window beyond the image", pool([.max, .max], [1, 1], [1, 1])),
            (
                "transposed strides",
                transposedConvolution(stride: [1 << 40, .max], dilation: [1, 1], weights: [2, 2, 2, 2])
            ),
            (
                "transposed dilations",
                transposedConvolution(stride: [1, 1], dilation: [1 << 40, .max], weights: [2, 2, 1, 1])
            ),
            ("attention over no keys", attention(queries: 3, keys: 0, depth: 4, batch: 1)),
            ("attention of no depth", attention(queries: 3, keys: 2, depth: 0, batch: 1)),
            ("attention of no batch", attention(queries: 3, keys: 2, depth: 4, batch: 0)),
            ("very many products of nothing", product([1 << 24, 0, 4], [1 << 24, 4, 0], isConstant: false)),
            ("a product over nothing", product([3, 0], [0, 5], isConstant: true)),
            ("a matrix beyond memory", product([1, 1 << 20], [1 << 20, 1 << 20], isConstant: true)),
        ]
    }

    @Test func hostileNumbersAreAnswered() throws {
        let reference = try TestUnits("reference", [ReferenceBackend()])
        let subject = try TestUnits("openblas", [OpenBLASBackend(), ReferenceBackend()])
        for (name, graph) in graphs {
            let inputs = graph.inputs.map { TestTensor.ones(graph.tensorType($0.value).staticShape ?? []) }
            check(name, graph, inputs, subject, reference)
        }
        let (norm, inputs) = repeatedNorm()
        check("a norm of one column, repeated", norm, inputs, subject, reference)
    }

    private func check(
        _ name: String, _ graph: Graph, _ inputs: [TestTensor], _ subject: TestUnits, _ reference: TestUnits
    ) {
        do {
            let got = try subject.run(graph, inputs).outputs
            let wanted = try reference.run(graph, inputs).outputs
            #expect(got.map(\.shape) == wanted.map(\.shape), "\(name)")
            for (a, b) in zip(got, wanted) {
                let agree = zip(a.doubles, b.doubles).allSatisfy {
                    $0 == $1 || ($0 - $1).magnitude <= 1e-6 * $1.magnitude
                }
                #expect(agree, "\(name): \(a.doubles.prefix(8)), expected \(b.doubles.prefix(8))")
            }
        } catch {
            #expect(!"\(error)".isEmpty, "\(name)")
        }
    }
}

extension Graph {
    fileprivate mutating func input(_ shape: [Int]) -> ValueID {
        let value = makeValue(.tensor(TensorType(.float32, shape.map { Dimension($0) })))
        inputs.append(Port("i\(inputs.count)", value))
        return value
    }

    fileprivate mutating func constant(_ constant: Constant, _ scalar: ScalarType, _ shape: [Int]) -> ValueID {
        append(
            Op.constantName, [], [NamedAttribute("value", .elements(constant))],
            results: [.tensor(TensorType(scalar, shape.map { Dimension($0) }))])[0]
    }

    fileprivate mutating func splat(_ shape: [Int], _ value: Float) -> ValueID {
        let bytes = withUnsafeBytes(of: value) { Bytes(copying: $0) }
        return constant(Constant(bytes, packing: .splat), .float32, shape)
    }

    fileprivate mutating func integers(_ numbers: [Int]) -> ValueID {
        constant(Constant(numbers.withUnsafeBytes { Bytes(copying: $0) }), .int64, [numbers.count])
    }

    fileprivate mutating func integer(_ number: Int) -> ValueID {
        constant(Constant(withUnsafeBytes(of: number) { Bytes(copying: $0) }), .int64, [])
    }
}

extension TestTensor {
    fileprivate static func ones(_ shape: [Int]) -> TestTensor {
        let tensor = TestTensor(.float32, shape)
        tensor.host.pointer(as: Float.self).update(repeating: 1, count: tensor.host.count)
        return tensor
    }
}
