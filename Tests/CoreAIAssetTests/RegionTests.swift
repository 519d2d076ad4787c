import CoreAIAsset
import CoreAIGraph
import Testing

@Suite struct Regions {
    private func graph(_ make: (inout OneGraph, _ tensor: Int) -> [UInt8]) throws -> Graph {
        var graph = OneGraph()
        let element = graph.writer.type(BytecodeWriter.varint(6))
        let tensor = graph.writer.type(
            cat(BytecodeWriter.varint(2), BytecodeWriter.varint(0), BytecodeWriter.varint(element)))
        let body = make(&graph, tensor)
        return try #require(try read(graph.file(body)).graphs.first)
    }

    @Test func forwardReferencesAreSorted() throws {
        let found = try graph { g, tensor in
            let (a, b, output) = (g.writer.op("a_v1"), g.writer.op("b_v1"), g.writer.op("dataflow.output_v1"))
            // Value 1 is defined by the op after its user.
            return g.region(
                arguments: [tensor], values: 3,
                [
                    g.op(a, results: [tensor], operands: [2]), g.op(b, results: [tensor], operands: [0]),
                    g.op(output, operands: [1]),
                ])
        }
        #expect(found.ops.map(\.name) == ["b_v1", "a_v1"])
        #expect(found.outputs.map(\.value) == [ValueID(1)])
    }

    /// A callee is looked for in the caller's namespace before the ones around it.
    @Test func namespacesArePartOfNames() throws {
        func program(callee: [String]) throws -> Program {
            var g = OneGraph()
            let (invoke, output) = (g.writer.op("dataflow.invoke_v1"), g.writer.op("dataflow.output_v1"))
            let path = callee.map { g.writer.string($0) }
            let symbol = g.writer.attribute(cat(BytecodeWriter.varint(14), BytecodeWriter.list(path)))
            let record = g.writer.property([g.empty, symbol, g.empty].flatMap(BytecodeWriter.varint))
            let body = g.region(values: 0, [g.op(invoke, property: record), g.op(output)])
            return try read(g.file(body, namespace: "n"))
        }
        for callee in [["main"], ["n", "main"]] {
            let graph = try #require(try program(callee: callee).graphs.first)
            #expect(graph.name == "n_main")
            #expect(graph.ops.first?[attribute: "callee"] == .symbol(["n_main"]))
        }
        #expect(throws: ReadError.self) { try program(callee: ["other"]) }
    }

    @Test func cyclesAreRefused() {
        #expect(throws: ReadError.self) {
            try graph { g, tensor in
                let (a, output) = (g.writer.op("a_v1"), g.writer.op("dataflow.output_v1"))
                return g.region(
                    values: 2,
                    [
                        g.op(a, results: [tensor], operands: [1]), g.op(a, results: [tensor], operands: [0]),
                        g.op(output, operands: [1]),
                    ])
            }
        }
    }

    /// An inner region that uses a value two levels up makes the region between capture it too.
    @Test func capturesPassThroughNestedRegions() throws {
        let found = try graph { g, tensor in
            let (branch, yield, output) = (
                g.writer.op("controlflow.if_v1"), g.writer.op("dataflow.yield_v1"), g.writer.op("dataflow.output_v1")
            )
            // main: %0, %1 arguments, %2 the outer if. Outer region: %3 the inner if. Inner region: no values.
            let inner = g.region(values: 0, [g.op(yield, operands: [1])])
            let outer = g.region(
                values: 1,
                [g.op(branch, results: [tensor], operands: [0], regions: [inner]), g.op(yield, operands: [3])])
            return g.region(
                arguments: [tensor, tensor], values: 3,
                [g.op(branch, results: [tensor], operands: [0], regions: [outer]), g.op(output, operands: [2])])
        }
        let outer = try #require(found.ops.first?.regions.first)
        #expect(Set(outer.captures) == [ValueID(0), ValueID(1)])
        #expect(outer.inputs.suffix(2).map(\.name) == ["0", "1"])
        let inner = try #require(outer.ops.first?.regions.first)
        #expect(inner.captures.count == 1)
        #expect(inner.captures.first == outer.inputs[outer.captures.firstIndex(of: ValueID(1)) ?? 0].value)
        #expect(inner.outputs.map(\.value) == inner.inputs.map(\.value))
        #expect(inner.values.allSatisfy { $0.type == .tensor(TensorType(.float32, [])) })
    }

    @Test func capturesInsideIsolatedRegionsAreInputsOnce() throws {
        let found = try graph { g, tensor in
            let (group, branch) = (g.writer.op("dataflow.isolated_group_v1"), g.writer.op("controlflow.if_v1"))
            let (yield, output) = (g.writer.op("dataflow.yield_v1"), g.writer.op("dataflow.output_v1"))
            let inner = g.region(values: 0, [g.op(yield, operands: [0])])
            let isolated = g.region(
                arguments: [tensor], values: 2,
                [g.op(branch, results: [tensor], operands: [0], regions: [inner]), g.op(yield, operands: [1])])
            return g.region(
                arguments: [tensor], values: 2,
                [
                    g.op(group, results: [tensor], operands: [0], regions: [isolated], isolated: true),
                    g.op(output, operands: [1]),
                ])
        }
        let inner = try #require(found.ops.first?.regions.first?.ops.first?.regions.first)
        #expect(inner.captures == [ValueID(0)])
        #expect(inner.inputs == [Port("0", ValueID(0))])
        #expect(inner.values.count == 1)
    }

    /// Each level of nesting repeats the captures, so a small file could ask for much memory.
    @Test func capturesThroughManyLevelsAreLimited() {
        #expect(throws: ReadError.self) {
            try graph { g, tensor in
                let (a, yield, output) = (
                    g.writer.op("a_v1"), g.writer.op("dataflow.yield_v1"), g.writer.op("dataflow.output_v1")
                )
                let arguments = [Int](repeating: tensor, count: 20_000)
                var region = g.region(values: 0, [g.op(yield, operands: Array(arguments.indices))])
                for _ in 0..<40 { region = g.region(values: 0, [g.op(a, regions: [region]), g.op(yield)]) }
                return g.region(arguments: arguments, values: 20_000, [g.op(a, regions: [region]), g.op(output)])
            }
        }
    }

    @Test func isolatedRegionsDoNotSeeOuterValues() {
        #expect(throws: ReadError.self) {
            try graph { g, tensor in
                let (a, yield, output) = (
                    g.writer.op("a_v1"), g.writer.op("dataflow.yield_v1"), g.writer.op("dataflow.output_v1")
                )
                let inner = g.region(values: 0, [g.op(yield, operands: [0])])
                return g.region(
                    arguments: [tensor], values: 2,
                    [
                        g.op(a, results: [tensor], operands: [0], regions: [inner], isolated: true),
                        g.op(output, operands: [1]),
                    ])
            }
        }
    }

    @Test func nestingIsLimited() {
        #expect(throws: ReadError.self) {
            try graph { g, _ in
                let (a, output) = (g.writer.op("a_v1"), g.writer.op("dataflow.output_v1"))
                var region = g.region(values: 0, [g.op(output)])
                for _ in 0..<1000 { region = g.region(values: 0, [g.op(a, regions: [region]), g.op(output)]) }
                return region
            }
        }
    }

    @Test func constantsMustHaveTheBytesOfTheirType() throws {
        func constant(_ code: Int, _ count: Int, inline: [UInt8], splat: UInt8 = 0) throws -> Constant {
            let found = try graph { g, _ in
                let element = g.writer.type(BytecodeWriter.varint(code))
                let type = g.writer.type(
                    cat(
                        BytecodeWriter.varint(2), BytecodeWriter.varint(1), BytecodeWriter.signed(count),
                        BytecodeWriter.varint(element)))
                let value = g.writer.attribute(
                    BytecodeWriter.varint(6) + [splat] + BytecodeWriter.varint(inline.count) + inline)
                let (name, output) = (g.writer.op("primitive.constant_v1"), g.writer.op("dataflow.output_v1"))
                let record = g.writer.property(BytecodeWriter.varint(value))
                return g.region(
                    values: 1, [g.op(name, results: [type], property: record), g.op(output, operands: [0])])
            }
            guard case .elements(let constant)? = found.ops.first?[attribute: "value"] else { throw Missing() }
            return constant
        }
        struct Missing: Error {}
        #expect(try constant(20, 3, inline: [1, 2, 3]).packing == .elements)
        #expect(try constant(21, 3, inline: [1, 2, 0xc]).packing == .elements)
        #expect(try constant(29, 9, inline: [1, 1]).packing == .bits)
        #expect(try constant(29, 9, inline: [0xff], splat: 1) == Constant(Bytes(copying: [1]), packing: .splat))
        #expect(try constant(4, 3, inline: [1, 1, 1], splat: 1).packing == .elements)
        do {
            _ = try constant(20, 3, inline: [1, 2])
            Issue.record("two bytes were taken for three elements")
        } catch {
            #expect("\(error)".contains("expected 3 bytes for a constant of int8[3], found 2"))
        }
    }
}
