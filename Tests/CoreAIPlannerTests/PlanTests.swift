import CoreAIAsset
import CoreAIBackend
import CoreAIGraph
import CoreAIPlanner
import Foundation
import OpenBLASBackend
import ReferenceBackend
import Testing

/// What holds of every plan, on every function of the fixtures.
@Suite struct PlanTests {
    static let fixtures = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .appendingPathComponent("Fixtures")

    static let assets: [String] = ["ops", "models"].flatMap { kind -> [String] in
        let names =
            (try? FileManager.default.contentsOfDirectory(atPath: fixtures.appendingPathComponent(kind).path)) ?? []
        return names.sorted().map { "\(kind)/\($0)/model.aimodel" }.filter {
            FileManager.default.fileExists(atPath: fixtures.appendingPathComponent($0).path)
        }
    }

    static let planner = Planner(
        units: [OpenBLASBackend() as any Backend, ReferenceBackend()].map { Planner.Unit($0, target: $0.targets[0]) })

    /// The canonical graphs of an asset; none if it needs what this runtime lacks.
    static func canonicalGraphs(_ asset: String) throws -> [CanonicalGraph] {
        let loaded = try LoadedAsset(contentsOf: fixtures.appendingPathComponent(asset))
        guard let program = try loaded.program() else { return [] }
        let library = Dictionary(program.graphs.map { ($0.name, $0) }, uniquingKeysWith: { first, _ in first })
        return try program.graphs.filter { !$0.isPrivate }.compactMap { graph in
            do {
                return try canonicalize(graph, library: library)
            } catch let error as GraphError where error.isUnsupported {
                return nil
            }
        }
    }

    @Test func thereAreAssets() { #expect(Self.assets.count > 60) }

    @Test(arguments: assets) func plansKeepTheInvariants(asset: String) throws {
        for canonical in try Self.canonicalGraphs(asset) { check(try Self.planner.plan(canonical), asset) }
    }

    private func check(_ plan: Plan, _ asset: String) {
        let graph = plan.graph
        // Every op but constants is run once, after what it needs.
        var order: [OpID] = []
        for step in plan.steps {
            switch step {
            case .run(let segment), .runAndBindSizes(let segment): order += plan.segments[segment].ops
            case .control(let op): order.append(op)
            case .resolveSizes: break
            }
        }
        let expected = graph.ops.indices.filter { !graph.ops[$0].isConstant }.map { OpID($0) }
        #expect(order.sorted() == expected, "\(asset): ops of the plan")
        let place = Dictionary(order.enumerated().map { ($1, $0) }, uniquingKeysWith: { first, _ in first })
        let definitions = graph.definingOps
        for op in order {
            for operand in graph[op].operands {
                guard let definition = definitions[operand.index], let before = place[definition], let own = place[op]
                else { continue }
                #expect(before < own, "\(asset): \(op) runs before \(definition), which defines \(operand)")
            }
        }
        // Ops stand together by segment, which makes each convex; clusters name ops of their segment, none twice.
        for segment in plan.segments {
            let members = segment.clusters.joined().sorted()
            #expect(
                Set(members).count == members.count && members.allSatisfy(segment.graph.ops.indices.contains),
                "\(asset)")
        }
        // A note for each op; a reason for each that is not on the first backend.
        #expect(plan.notes.map(\.op).sorted() == expected, "\(asset): notes")
        for note in plan.notes where note.backend != "openblas" && note.backend != Plan.host {
            #expect(note.reason?.isEmpty == false, "\(asset): \(note.name) has no reason")
        }
        for region in plan.subplans.values.joined() { check(region, asset) }
    }

    @Test(arguments: assets) func canonicalGraphsPrintAndParse(asset: String) throws {
        for canonical in try Self.canonicalGraphs(asset) where canonical.graph.ops.count < 400 {
            let text = canonical.graph.text()
            guard text.utf8.count < 4 << 20 else { continue }
            #expect(try Graph(parsing: text) == canonical.graph, "\(asset)")
        }
    }

    @Test(arguments: assets) func planningTwiceGivesTheSamePlan(asset: String) throws {
        for canonical in try Self.canonicalGraphs(asset) {
            #expect(try Self.planner.plan(canonical) == Self.planner.plan(canonical), "\(asset)")
        }
    }

    /// The text people read; a change here is a change of what they see.
    @Test func aPlanReadsLikeThis() throws {
        let graph = try Graph(
            parsing: """
                graph "main" {
                  %0 = input "x" : float32[?, 4]
                  %1 = primitive.constant_v1 {value = splat 0x0000803f} : float32[4, 2]
                  %2 = relu_v1 %0 : float32[?, 4] at "net.py":3:4
                  %3 = primitive.batch_matmul_v1 %2, %1 : float32[?, 2] at "net.py":4:4
                  %4 = primitive.constant_v1 {value = splat 0x01000000} : int32[]
                  %5 = softmax_v1 %3, %4 : float32[?, 2] at "net.py":5:4
                  output "y" %5
                }
                """)
        let plan = try Self.planner.plan(try canonicalize(graph, library: [:]))
        let target = HostDevice.hostTarget.name
        #expect(
            plan.description == """
                plan main target openblas:\(target)
                  segment 0 openblas  ops 1-3
                  run 0
                  placed openblas 3 of 3

                """)
        #expect(
            plan.graph.description == """
                graph "main" symbols 1 {
                  %0 = input "x" : float32[s0, 4]
                  %1 = primitive.constant_v1 {value = splat 0x0000803f} : float32[4, 2]
                  %2 = relu_v1 %0 : float32[s0, 4] at "net.py":3:4
                  %3 = primitive.batch_matmul_v1 %2, %1 : float32[s0, 2] at "net.py":4:4
                  %4 = softmax_v1 %3 {axis = <1>} : float32[s0, 2] at "net.py":5:4
                  output "y" %4
                }

                """)
    }

    @Test func whatAnAssetGetsWrongIsNamedWithItsPlace() {
        let cases: [(line: String, words: [String])] = [
            (
                "%1 = primitive.frobnicate_v3 %0 : float32[2] at \"net.py\":7:1",
                ["primitive.frobnicate_v3", "unknown operation", "net.py:7"]
            ),
            ("%1 = relu_v1 %0, %0 : float32[2] at \"net.py\":8:1", ["relu_v1", "takes 1 operands, has 2", "net.py:8"]),
            ("%1 = primitive.not_v1 %0 : bool[2]", ["'x' is float32", "bool"]),
            ("%1 = relu_v1 %0 : int32[2]", ["declares int32 where float32 results"]),
            ("%1 = dataflow.invoke_v1 %0 {callee = @\"gone\"} : float32[2]", ["calls 'gone'"]),
        ]
        for (line, words) in cases {
            #expect {
                let graph = try Graph(
                    parsing: "graph \"main\" {\n  %0 = input \"x\" : float32[2]\n  \(line)\n  output \"y\" %1\n}\n")
                _ = try canonicalize(graph, library: [:])
            } throws: { error in
                words.allSatisfy { "\(error)".contains($0) }
            }
        }
    }

    @Test func callsThatNeverEndAreRefused() throws {
        let loop = try Graph(
            parsing: """
                graph "f" private {
                  %0 = input "x" : float32[2]
                  %1 = dataflow.invoke_v1 %0 {callee = @"f"} : float32[2]
                  output "y" %1
                }
                """)
        #expect(throws: GraphError.self) { try canonicalize(loop, library: ["f": loop]) }
        // Thirty graphs that each call the next twice would be a thousand million ops.
        var library: [String: Graph] = [:]
        for depth in 0..<30 {
            library["g\(depth)"] = try Graph(
                parsing: """
                    graph "g\(depth)" private {
                      %0 = input "x" : float32[2]
                      %1 = \(depth == 0 ? "relu_v1 %0" : "dataflow.invoke_v1 %0 {callee = @\"g\(depth - 1)\"}") : float32[2]
                      %2 = \(depth == 0 ? "relu_v1 %1" : "dataflow.invoke_v1 %1 {callee = @\"g\(depth - 1)\"}") : float32[2]
                      output "y" %2
                    }
                    """)
        }
        #expect(throws: GraphError.self) { try canonicalize(library["g29"] ?? Graph(name: ""), library: library) }
    }
}
