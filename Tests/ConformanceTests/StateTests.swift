import CoreAIBackend
import CoreAIGraph
import CoreAITestSupport
import OpenBLASBackend
import ReferenceBackend
import Testing

/// What states hold after a run, whether they are updated where they lie or copied.
@Suite struct StateTests {
    struct Case: Sendable, CustomTestStringConvertible {
        let name: String
        let text: String
        let inputs: [[Float]]
        let states: [[Float]]
        /// After the run.
        let outputs: [[Float]]
        let finals: [[Float]]
        var testDescription: String { name }
    }

    private static let slice = "{start = <1>, end = <3>, stride = <1>}"

    static let cases = [
        Case(
            name: "an update is read as written",
            text: """
                %0 = input "x" : float32[2]
                %1 = state "s" : float32[4]
                %2 = primitive.slice_update_v1 %1, %0 \(slice) : float32[4]
                %3 = relu_v1 %2 : float32[4]
                final "s" %2
                output "y" %3
                """,
            inputs: [[7, -8]], states: [[1, 2, 3, 4]], outputs: [[1, 7, 0, 4]], finals: [[1, 7, -8, 4]]),
        Case(
            name: "what was there before is read after the update",
            text: """
                %0 = input "x" : float32[2]
                %1 = state "s" : float32[4]
                %2 = primitive.slice_update_v1 %1, %0 \(slice) : float32[4]
                %3 = primitive.slice_v1 %1 \(slice) : float32[2]
                %4 = broadcasting_add_v1 %3, %0 : float32[2]
                final "s" %2
                output "y" %4
                """,
            inputs: [[7, 8]], states: [[1, 2, 3, 4]], outputs: [[9, 11]], finals: [[1, 7, 8, 4]]),
        Case(
            name: "two updates in a row",
            text: """
                %0 = input "x" : float32[2]
                %1 = state "s" : float32[4]
                %2 = primitive.slice_update_v1 %1, %0 \(slice) : float32[4]
                %3 = primitive.slice_v1 %2 {start = <0>, end = <2>, stride = <1>} : float32[2]
                %4 = primitive.slice_update_v1 %2, %3 {start = <2>, end = <4>, stride = <1>} : float32[4]
                final "s" %4
                output "y" %3
                """,
            inputs: [[7, 8]], states: [[1, 2, 3, 4]], outputs: [[1, 7]], finals: [[1, 7, 1, 7]]),
        Case(
            name: "a state moved onto itself",
            text: """
                %0 = state "s" : float32[4]
                %1 = primitive.reshape_v2 %0 {new_shape = <4>} : float32[4]
                %2 = primitive.slice_update_v1 %0, %1 {start = <3>, end = <-5>, stride = <-1>} : float32[4]
                %3 = relu_v1 %2 : float32[4]
                final "s" %2
                output "y" %3
                """,
            inputs: [], states: [[1, 2, 3, 4]], outputs: [[4, 3, 2, 1]], finals: [[4, 3, 2, 1]]),
        Case(
            name: "two states change places",
            text: """
                %0 = state "a" : float32[2]
                %1 = state "b" : float32[2]
                %2 = primitive.reshape_v2 %1 {new_shape = <2>} : float32[2]
                %3 = primitive.reshape_v2 %0 {new_shape = <2>} : float32[2]
                %4 = broadcasting_add_v1 %2, %3 : float32[2]
                final "a" %2
                final "b" %3
                output "y" %4
                """,
            inputs: [], states: [[1, 2], [3, 4]], outputs: [[4, 6]], finals: [[3, 4], [1, 2]]),
        Case(
            name: "a state takes what another held before its update",
            text: """
                %0 = input "x" : float32[2]
                %1 = state "a" : float32[2]
                %2 = state "b" : float32[2]
                %3 = broadcasting_add_v1 %1, %0 : float32[2]
                %4 = primitive.reshape_v2 %1 {new_shape = <2, 1>} : float32[2, 1]
                %5 = primitive.reshape_v2 %4 {new_shape = <2>} : float32[2]
                %6 = broadcasting_add_v1 %1, %2 : float32[2]
                final "a" %3
                final "b" %5
                output "y" %6
                """,
            inputs: [[10, 20]], states: [[1, 2], [3, 4]], outputs: [[4, 6]], finals: [[11, 22], [1, 2]]),
        Case(
            name: "a state that is an output too",
            text: """
                %0 = input "x" : float32[2]
                %1 = state "s" : float32[4]
                %2 = primitive.slice_update_v1 %1, %0 \(slice) : float32[4]
                final "s" %2
                output "y" %2
                """,
            inputs: [[7, 8]], states: [[1, 2, 3, 4]], outputs: [[1, 7, 8, 4]], finals: [[1, 7, 8, 4]]),
        Case(
            name: "an output that is a view of an earlier state",
            text: """
                %0 = input "x" : float32[2]
                %1 = state "s" : float32[4]
                %2 = primitive.slice_update_v1 %1, %0 \(slice) : float32[4]
                %3 = primitive.reshape_v2 %2 {new_shape = <2, 2>} : float32[2, 2]
                %4 = primitive.slice_update_v1 %2, %0 {start = <0>, end = <2>, stride = <1>} : float32[4]
                final "s" %4
                output "y" %3
                """,
            inputs: [[7, 8]], states: [[1, 2, 3, 4]], outputs: [[1, 7, 8, 4]], finals: [[7, 8, 8, 4]]),
        Case(
            name: "a state replaced by a sum",
            text: """
                %0 = input "x" : float32[4]
                %1 = state "s" : float32[4]
                %2 = broadcasting_add_v1 %1, %0 : float32[4]
                %3 = broadcasting_mul_v1 %1, %2 : float32[4]
                final "s" %2
                output "y" %3
                """,
            inputs: [[1, 1, 1, 1]], states: [[1, 2, 3, 4]], outputs: [[2, 6, 12, 20]], finals: [[2, 3, 4, 5]]),
    ]

    @Test(arguments: cases) func statesHoldWhatWasWritten(_ item: Case) throws {
        let graph = try Graph(parsing: "graph \"main\" {\n\(item.text)\n}")
        let shapes = graph.states.map { graph.tensorType($0.input).staticShape ?? [] }
        for unit in ExampleTests.units {
            let states = zip(item.states, shapes).map { Self.tensor($0, $1) }
            let outputs = try unit.run(graph, item.inputs.map { Self.tensor($0, [$0.count]) }, states: states).outputs
            #expect(outputs.map(Self.numbers) == item.outputs, "outputs on \(unit.name)")
            #expect(states.map(Self.numbers) == item.finals, "states on \(unit.name)")
        }
    }

    /// Appending to a state costs what is appended: nothing else is moved.
    @Test func anAppendingUpdateHappensInPlace() throws {
        let graph = try Graph(parsing: "graph \"main\" {\n\(Self.cases[0].text)\n}")
        let unit = ExampleTests.units[1]
        let plan = try unit.run(graph, [Self.tensor([1, 2], [2])], states: [Self.tensor([1, 2, 3, 4], [4])]).plan
        #expect(plan.segments.map(\.states.count) == [1])
        #expect(try unit.prepare(graph).kernelNames.contains("slice_update in place"))
    }

    private static func tensor(_ numbers: [Float], _ shape: [Int]) -> TestTensor {
        TestTensor(.float32, shape, bytes: numbers.withUnsafeBytes { Bytes(copying: Array($0)) })
    }

    private static func numbers(_ tensor: TestTensor) -> [Float] {
        withExtendedLifetime(tensor) {
            (0..<tensor.shape.reduce(1, *)).map { tensor.host.pointer(as: Float.self)[$0] }
        }
    }
}
