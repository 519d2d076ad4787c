import CoreAIAsset
import CoreAIGraph
import Testing

private typealias W = BytecodeWriter

/// The attribute made from `bytes`, carried by a composite declaration.
private func attribute(_ make: (inout OneGraph) -> [UInt8]) throws -> Attribute? {
    try read(fileWithAttribute(make)).graphs.first?.composite?.attributes.first?.value
}

private func fileWithAttribute(_ make: (inout OneGraph) -> [UInt8]) -> [UInt8] {
    var graph = OneGraph()
    let output = graph.writer.op("dataflow.output_v1")
    let bytes = make(&graph)
    let inner = graph.writer.attribute(bytes)
    let entry = graph.writer.attribute(cat(W.varint(9), W.varint(graph.writer.string("key")), W.list([inner])))
    let composite = graph.writer.attribute(cat(W.varint(9), W.varint(graph.writer.string("c")), W.list([entry])))
    return graph.file(graph.region(values: 0, [graph.op(output)]), composite: composite)
}

/// A file whose graph has one argument of the type made from `bytes`.
private func fileWithType(_ make: (inout OneGraph) -> [UInt8]) -> [UInt8] {
    var graph = OneGraph()
    let output = graph.writer.op("dataflow.output_v1")
    let bytes = make(&graph)
    let type = graph.writer.type(bytes)
    return graph.file(graph.region(arguments: [type], values: 1, [graph.op(output, operands: [0])]))
}

private func type(_ make: (inout OneGraph) -> [UInt8]) throws -> ValueType? {
    try read(fileWithType(make)).graphs.first?.values.first?.type
}

@Suite struct AttributeCodes {
    @Test func scalarsKeepSignAndWidth() throws {
        #expect(try attribute { _ in cat([5], W.varint(64), [0], W.signed(-5)) } == .integer(-5))
        #expect(try attribute { _ in cat([5], W.varint(32), [0], W.signed(4_294_967_291)) } == .integer(-5))
        #expect(try attribute { _ in cat([5], W.varint(32), [1], W.signed(4_294_967_291)) } == .integer(4_294_967_291))
        #expect(try attribute { _ in cat([5], W.varint(8), [0, 0xff]) } == .integer(-1))
        #expect(try attribute { _ in cat([5], W.varint(1), [0, 1]) } == .bool(true))
        #expect(try attribute { _ in cat([5], W.varint(1), [1, 0]) } == .bool(false))
        #expect(try attribute { _ in cat([7], W.varint(32), W.signed(0x3fc0_0000)) } == .float(1.5))
        #expect(try attribute { _ in cat([7], W.varint(16), W.signed(0x3e00)) } == .float(1.5))
        #expect(
            try attribute { _ in cat([7], W.varint(64), W.signed(Int(bitPattern: 0x3ff8_0000_0000_0000))) }
                == .float(1.5))
        #expect(try attribute { g in cat(W.varint(1), W.varint(g.writer.string("hello"))) } == .string("hello"))
        #expect(try attribute { _ in W.varint(46) } == .unit)
    }

    /// Small signless integers are stored under the code of a scan combiner.
    @Test func combinerInFreeFormIsAnInteger() throws {
        for value in 0...3 { #expect(try attribute { _ in cat(W.varint(25), W.varint(value)) } == .integer(value)) }
    }

    @Test func wordsAreThoseOfTheFormat() throws {
        let lists: [(Int, [String])] = [
            (17, ["circular", "constant", "reflect", "replicate", "symmetric"]), (19, ["none", "tanh", "sigmoid"]),
            (20, ["update", "add", "sub", "mul", "div", "max", "min"]), (43, ["linear", "nearest_neighbor"]),
            (28, ["full", "partial", "finalized"]), (44, ["out", "inout", "return", "in", "param", "metadata"]),
        ]
        for (code, words) in lists {
            for (value, word) in words.enumerated() {
                #expect(try attribute { _ in cat(W.varint(code), W.varint(value)) } == .word(word))
            }
            #expect(
                fault(fileWithAttribute { _ in cat(W.varint(code), W.varint(words.count)) })?.contains(
                    "found \(words.count)") == true)
        }
    }

    @Test func containersHoldTheirParts() throws {
        #expect(
            try attribute { g in
                let one = g.writer.attribute(cat([5], W.varint(64), [0], W.signed(1)))
                return cat(W.varint(5), W.list([one, g.no]))
            } == .array([.integer(1), .bool(false)]))
        #expect(
            try attribute { g in
                let entry = g.writer.attribute(cat(W.varint(9), W.varint(g.writer.string("a")), W.list([g.no])))
                return cat(W.varint(45), W.list([entry]))
            } == .dictionary([NamedAttribute("a", .bool(false))]))
        #expect(
            try attribute { g in cat(W.varint(14), W.list([g.writer.string("n"), g.writer.string("g")])) }
                == .symbol(["n", "g"]))
        #expect(
            try attribute { g in
                let symbol = g.writer.attribute(cat(W.varint(14), W.list([g.writer.string("g")])))
                return cat(W.varint(16), W.varint(symbol), W.varint(g.writer.type(W.varint(33))))
            } == .symbol(["g"]))
        #expect(
            try attribute { g in cat(W.varint(4), W.varint(g.writer.type(W.varint(7)))) }
                == .type(.tensor(TensorType(.float16, []))))
    }

    /// Every code that occurs only in assets of compilers is read over to its end.
    @Test func rareCodesAreRead() throws {
        let rare: [(Int, [UInt8])] = [
            (10, cat(W.varint(0), W.varint(0))), (11, cat(W.varint(0), W.varint(0), W.varint(0))),
            (12, cat(W.list([]), W.list([]), W.varint(1))), (13, cat(W.list([]), W.list([]), W.varint(1), W.varint(0))),
            (18, W.varint(15)), (21, cat(W.varint(0), W.varint(1), W.varint(1), [0])),
            (21, cat(W.varint(0), W.varint(1), W.varint(1), [1], W.varint(7))),
            (23, cat(W.varint(4), W.varint(1), W.varint(1), [0], W.list([2, 2]))), (26, cat(W.varint(1), W.list([]))),
            (27, W.varint(24)), (29, cat(W.varint(0), W.varint(0), W.varint(0))),
            (30, cat(W.varint(0), W.varint(0), W.varint(0))),
            (31, [1, 1, 1, 1, 1]), (32, cat([1, 1, 1, 1, 1], W.list([]))), (33, [1]), (35, [1, 1]),
            (36, [1, 1, 1, 1, 1, 1]),
            (37, [1, 1, 1, 1, 1, 1]), (38, [1, 1, 1, 1]), (39, [1]), (40, cat([1, 1], W.list([]), W.list([]))),
            (41, cat([1, 1, 1], W.list([]), W.list([]))), (42, W.list([])), (47, [1]),
        ]
        for (code, fields) in rare {
            let make: (inout OneGraph) -> [UInt8] = { g in
                if g.writer.types.isEmpty { _ = g.writer.type(W.varint(6)) }
                return W.varint(code) + fields
            }
            #expect(fault(fileWithAttribute(make)) == nil, "code \(code)")
        }
    }

    @Test func unknownCodesFailWithTheirNumber() {
        for code in [0, 8, 15, 22, 24, 34, 48, 1000] {
            #expect(
                fault(fileWithAttribute { _ in cat(W.varint(code), [1]) })?.contains(
                    "attribute code (1 to 47), found \(code)") == true)
        }
    }

    @Test func cyclesAndDepthAndWidthAreLimited() {
        #expect(
            fault(fileWithAttribute { g in cat(W.varint(5), W.list([g.writer.attributes.count])) })?.contains("cycle")
                == true)
        let deep = fileWithAttribute { g in
            var last = g.no
            for _ in 0..<100 { last = g.writer.attribute(cat(W.varint(5), W.list([last]))) }
            return cat(W.varint(5), W.list([last]))
        }
        #expect(fault(deep)?.contains("nested at most") == true)
        let wide = fileWithAttribute { g in
            var last = g.no
            for _ in 0..<40 { last = g.writer.attribute(cat(W.varint(5), W.list([last, last]))) }
            return cat(W.varint(5), W.list([last]))
        }
        #expect(fault(wide)?.contains("parts") == true)
    }
}

@Suite struct TypeCodes {
    @Test func scalarTypesAreThoseOfTheFormat() throws {
        let scalars: [(Int, ScalarType)] = [
            (4, .bool), (5, .float64), (6, .float32), (7, .float16), (8, .bfloat16), (9, .float8e5m2),
            (10, .float8e4m3fn),
            (11, .cfloat64), (12, .cfloat32), (13, .cfloat16), (17, .int64), (18, .int32), (19, .int16), (20, .int8),
            (21, .int4), (22, .int2), (23, .uint64), (24, .uint32), (25, .uint16), (26, .uint8), (27, .uint4),
            (28, .uint2), (29, .uint1), (36, .uint6), (37, .uint3), (46, .float4e2m1fn), (47, .float8e8m0fn),
        ]
        for (code, scalar) in scalars {
            let found = try type { g in
                let element = g.writer.type(W.varint(code))
                return cat(W.varint(2), W.varint(2), W.signed(3), W.signed(.min), W.varint(element))
            }
            #expect(found == .tensor(TensorType(scalar, [3, .unknown])))
        }
    }

    @Test func compoundTypesKeepTheirParts() throws {
        let tensor: (inout OneGraph) -> Int = { g in
            let element = g.writer.type(W.varint(6))
            return g.writer.type(cat(W.varint(2), W.varint(1), W.signed(4), W.varint(element)))
        }
        #expect(
            try type { g in cat(W.varint(31), W.varint(tensor(&g))) } == .handle(.tensor(TensorType(.float32, [4]))))
        #expect(try type { _ in W.varint(32) } == .token)
        #expect(
            try type { g in
                cat(
                    W.varint(39), W.varint(g.writer.attribute(cat(W.varint(27), W.varint(24)))), W.varint(2),
                    W.varint(5))
            } == .image(ImageType(pixelFormat: 24, height: 2, width: 5)))
        #expect(
            try type { g in
                let element = g.writer.type(W.varint(6))
                let layout = g.writer.attribute(
                    cat(W.varint(12), W.varint(2), W.signed(64), W.signed(1), W.varint(1), W.signed(8), W.varint(2)))
                return cat(W.varint(3), W.varint(1), W.signed(4), W.varint(element), W.varint(layout))
            }
                == .tensor(
                    TensorType(
                        .float32, [4], layout: LayoutConstraint(alignments: [64, 1], interleave: [8], backing: 2))))
        #expect(
            try type { g in
                let element = g.writer.type(W.varint(6))
                let sparse = g.writer.attribute(
                    cat(W.varint(21), W.varint(0), W.varint(1), W.varint(2), [1], W.varint(3)))
                return cat(W.varint(3), W.varint(1), W.signed(4), W.varint(element), W.varint(sparse))
            }
                == .sparse(
                    TensorType(.float32, [4]),
                    SparseEncoding(scheme: .bitmask, positionWidth: 1, coordinateWidth: 2, storedCount: 3)))
    }

    @Test func typesThatNoValueHasAreNamed() {
        let named: [(Int, String)] = [(38, "tfloat32"), (33, "param.symbol"), (34, "param.type"), (30, "function")]
        for (code, name) in named {
            #expect(fault(fileWithType { _ in W.varint(code) + (code == 30 ? [1, 1] : []) })?.contains(name) == true)
        }
    }

    @Test func impossibleSizesAreRefused() {
        func sized(_ sizes: [Int]) -> String? {
            fault(
                fileWithType { g in
                    let element = g.writer.type(W.varint(6))
                    return W.varint(2) + W.varint(sizes.count) + sizes.flatMap(W.signed) + W.varint(element)
                })
        }
        #expect(sized([-1])?.contains("found -1") == true)
        #expect(sized([1 << 40, 1 << 40])?.contains("2^63") == true)
        #expect(sized([0, 1 << 40]) == nil)
    }

    @Test func unknownCodesFailWithTheirNumber() {
        for code in [0, 48, 500] {
            #expect(fault(fileWithType { _ in W.varint(code) })?.contains("type code (1 to 47), found \(code)") == true)
        }
    }

    @Test func nestedHandlesAreLimited() {
        #expect(
            fault(fileWithType { g in cat(W.varint(31), W.varint(g.writer.types.count)) })?.contains("nested") == true)
    }
}
