import CoreAIBackend
import CoreAIGraph
import CoreAIOps
import Synchronization
import Testing

/// What the executable of host kernels promises beside right numbers.
struct HostExecutableTests {
    private struct NoWeights: WeightSource {
        func weight(_ index: Int) throws(BackendError) -> Weight { throw BackendError(.invalidArgument, "no weights") }
    }

    private static func graph() throws -> Graph {
        try Graph(
            parsing: """
                graph "main" {
                  %0 = input "x" : float32[4]
                  %1 = relu_v1 %0 : float32[4]
                  %2 = relu_v1 %1 : float32[4]
                  output "y" %2
                }
                """)
    }

    private func bindings() throws -> [Binding] {
        try (0..<2).map { _ in Binding(try HostBuffer(byteCount: 16), shape: [4]) }
    }

    /// A cancelled run ends before its next kernel call.
    @Test func aRunStopsBetweenKernels() throws {
        let calls = Guarded(0)
        let executable = try HostExecutable(Self.graph(), weights: NoWeights()) {
            (graph, constants) throws(BackendError) in
            var program = HostProgram(graph, constants)
            for op in graph.ops {
                program.steps.append(
                    HostStep(op, operands: op.operands, results: op.results) { _ in
                        HostCall { _ in calls.withLock { $0 += 1 } }
                    })
            }
            return program
        }
        let stream = HostStream()
        stream.watch { calls.withLock { $0 } >= 1 }
        let error = #expect(throws: BackendError.self) {
            _ = try stream.enqueue(executable, bindings(), symbols: [], after: [])
        }
        #expect(error?.code == .cancelled)
        #expect(calls.withLock { $0 } == 1)
        stream.watch(nil)
        _ = try stream.enqueue(executable, bindings(), symbols: [], after: [])
        #expect(calls.withLock { $0 } == 3)
    }

    /// Shapes are worked out once for each assignment of the symbols, not at every run.
    @Test func callsArePreparedOnceForEachShape() throws {
        let graph = try Graph(
            parsing: """
                graph "main" symbols 1 {
                  %0 = input "x" : float32[s0]
                  %1 = relu_v1 %0 : float32[s0]
                  output "y" %1
                }
                """)
        let prepared = Guarded<[[Int]]>([])
        let executable = try HostExecutable(graph, weights: NoWeights()) { (graph, constants) throws(BackendError) in
            var program = HostProgram(graph, constants)
            let op = graph.ops[0]
            program.steps.append(
                HostStep(op, operands: op.operands, results: op.results) { shapes in
                    prepared.withLock { $0.append(shapes[op.results[0]]) }
                    return HostCall { _ in }
                })
            return program
        }
        let stream = HostStream()
        for size in [4, 2, 4, 2, 2, 3] {
            let bindings = try (0..<2).map { _ in Binding(try HostBuffer(byteCount: 4 * size), shape: [size]) }
            _ = try stream.enqueue(executable, bindings, symbols: [size], after: [])
        }
        #expect(prepared.withLock { $0 } == [[4], [2], [3]])
    }
}
