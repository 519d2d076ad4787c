import CoreAIGraph
import Testing

@Suite struct TextTests {
    /// One graph with something of everything.
    static let everything: Graph = {
        var graph = Graph(name: "main \"quoted\"\n")
        graph.symbolCount = 2
        graph.isPrivate = true
        graph.noInline = true
        graph.composite = CompositeDeclaration(
            "rms_norm", attributes: [NamedAttribute("input_names", .array([.string("x"), .string("w")]))])
        let s = Dimension.symbol(0)
        let x = graph.makeValue(.tensor(TensorType(.float32, [s, 3, .symbol(1)])))
        graph.inputs = [Port("x", x)]
        let state = graph.makeValue(
            .handle(
                .tensor(
                    TensorType(
                        .float16, [1, 4],
                        layout: LayoutConstraint(alignments: [1, 1, 64], interleave: [1, 4], backing: 2)))))
        graph.states = [StatePort("kv", input: state, output: state)]
        let constant = graph.append(
            "primitive.constant_v1", [],
            [NamedAttribute("value", .elements(Constant(Bytes(copying: [0, 255, 16, 1]), packing: .splat)))],
            results: [.tensor(TensorType(.int4, []))],
            location: SourceLocation(file: "a \"b\".py", line: 12, column: 4))[0]
        let many: [NamedAttribute] = [
            NamedAttribute("unit", .unit), NamedAttribute("flag", .bool(true)), NamedAttribute("n", .integer(-5)),
            NamedAttribute("f", .float(-1.5e-300)), NamedAttribute("inf", .float(.infinity)),
            NamedAttribute("mode", .word("reflect")),
            NamedAttribute(
                "sizes",
                .dimensions([
                    s * 2 - 1, s.floorDivided(by: 3), .maximum(s - 4, 1), Dimension(-7), Dimension(-1) * s, .unknown,
                ])),
            NamedAttribute("callee", .symbol(["a", "b c"])), NamedAttribute("type", .type(.token)),
            NamedAttribute("odd name", .dictionary([NamedAttribute("k", .array([]))])),
            NamedAttribute("bits", .elements(Constant(Bytes(copying: [7]), packing: .bits))),
        ]
        var region = Graph(name: "body")
        let inner = region.makeValue(.image(ImageType(pixelFormat: 0x4247_5241, height: 4, width: 5)))
        region.inputs = [Port("0", inner)]
        region.captures = [x]
        region.outputs = [Port("0", inner)]
        let sparse = ValueType.sparse(
            TensorType(.float32, [2, 2]),
            SparseEncoding(scheme: .bitmask, positionWidth: 1, coordinateWidth: 1, storedCount: nil, blockSize: [2, 2]))
        let results = graph.append(
            "controlflow.if_v1", [x, constant], many, regions: [region, region], results: [sparse, .token])
        graph.outputs = [Port("y", results[0]), Port("", results[1])]
        return graph
    }()

    @Test func whatIsPrintedParsesBack() throws {
        let text = Self.everything.description
        #expect(try Graph(parsing: text) == Self.everything, "\(text)")
    }

    @Test func damagedTextIsRefusedWithItsLine() throws {
        let text = Self.everything.description
        for end in stride(from: 0, to: text.utf8.count - 2, by: 7) {
            let cut = String(decoding: Array(text.utf8)[..<end], as: UTF8.self)
            #expect(throws: GraphError.self) { try Graph(parsing: cut) }
        }
        #expect {
            try Graph(parsing: "graph \"m\" {\n  %0 = input \"x\" : float99[1]\n}\n")
        } throws: {
            "\($0)".contains("line 2") && "\($0)".contains("float99")
        }
    }

    @Test func nestingIsLimited() {
        let deep = String(repeating: "graph \"m\" { a {", count: 1000)
        #expect(throws: GraphError.self) { try Graph(parsing: deep) }
    }
}
