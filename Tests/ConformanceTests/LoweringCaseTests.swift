import CoreAIGraph
import CoreAITestSupport
import Foundation
import Testing

/// Graphs in which a rewriting that looks safe is not; each gives the same numbers on every backend.
@Suite struct LoweringCaseTests {
    struct Case: Sendable, CustomTestStringConvertible {
        let name: String
        let text: String
        let inputs: [(shape: [Int], numbers: [Float])]
        /// Compared by their bits, so that 0 and -0 are told apart.
        let outputs: [[Float]]
        var testDescription: String { name }
    }

    static let cases = [
        Case(
            name: "a product that is read turned by one and plain through the same transpose by another",
            text: """
                %0 = input "a" : float32[1, 2, 2]
                %1 = input "b" : float32[1, 2, 2]
                %2 = input "e" : float32[1, 2, 2]
                %3 = broadcasting_batch_matmul_v1 %0, %1 : float32[1, 2, 2]
                %4 = primitive.transpose_v1 %3 {permutation = <1, 0, 2>} : float32[2, 1, 2]
                %5 = broadcasting_batch_matmul_v1 %4, %2 : float32[2, 1, 2]
                %6 = relu_v1 %4 : float32[2, 1, 2]
                output "c" %5
                output "r" %6
                """,
            inputs: [([1, 2, 2], [1, 2, 3, 4]), ([1, 2, 2], [1, 0, 0, 1]), ([1, 2, 2], [0, 1, 1, 0])],
            outputs: [[2, 1, 4, 3], [1, 2, 3, 4]]),
        Case(
            name: "0 and -0 are two constants",
            text: """
                %0 = input "x" : float32[1]
                %1 = primitive.constant_v1 {value = splat 0x00000000} : float32[]
                %2 = primitive.constant_v1 {value = splat 0x00000080} : float32[]
                %3 = broadcasting_add_v1 %0, %1 : float32[1]
                %4 = broadcasting_divide_v1 %3, %2 : float32[1]
                output "y" %4
                """,
            inputs: [([1], [1])], outputs: [[-.infinity]]),
        Case(
            name: "of 0 and -0 a maximum keeps the first",
            text: """
                %0 = input "x" : float32[2]
                %1 = primitive.constant_v1 {value = splat 0x00000000} : float32[]
                %2 = primitive.constant_v1 {value = splat 0x0000c040} : float32[]
                %3 = primitive.constant_v1 {value = splat 0x0000803f} : float32[]
                %4 = broadcasting_maximum_v1 %1, %0 : float32[2]
                %5 = broadcasting_minimum_v1 %4, %2 : float32[2]
                %6 = broadcasting_divide_v1 %3, %5 : float32[2]
                output "y" %6
                """,
            inputs: [([2], [-0.0, 2])], outputs: [[.infinity, 0.5]]),
        Case(
            name: "a mask that has more keys than the scores",
            text: """
                %0 = input "q" : float32[1, 2, 1]
                %1 = input "k" : float32[1, 1, 1]
                %2 = input "v" : float32[1, 3, 1]
                %3 = input "m" : float32[2, 3]
                %4 = primitive.transpose_v1 %1 {permutation = <0, 2, 1>} : float32[1, 1, 1]
                %5 = broadcasting_batch_matmul_v1 %0, %4 : float32[1, 2, 1]
                %6 = broadcasting_add_v1 %5, %3 : float32[1, 2, 3]
                %7 = softmax_v1 %6 {axis = <2>} : float32[1, 2, 3]
                %8 = broadcasting_batch_matmul_v1 %7, %2 : float32[1, 2, 1]
                output "y" %8
                """,
            inputs: [
                ([1, 2, 1], [1, 2]), ([1, 1, 1], [1]), ([1, 3, 1], [3, 3, 3]), ([2, 3], [0, 0, 0, 0, 0, 0]),
            ],
            outputs: [[3, 3]]),
        Case(
            name: "a finite border of a maximum stays",
            text: """
                %0 = input "x" : float32[1, 1, 1, 1]
                %1 = primitive.constant_v1 {value = splat 0xffff7fff} : float32[]
                %2 = primitive.pad_v1 %0, %1 {padding_mode = 'constant', padding = <0, 0, 0, 0, 1, 1, 1, 1>} : float32[1, 1, 3, 3]
                %3 = primitive.max_pool_2d_v1 %2 {kernel = <3, 3>, stride = <1, 1>, dilation = <1, 1>, ceil_mode = <0>} : float32[1, 1, 1, 1]
                output "y" %3
                """,
            inputs: [([1, 1, 1, 1], [-.infinity])], outputs: [[-Float.greatestFiniteMagnitude]]),
        Case(
            name: "a norm of a norm",
            text: """
                %0 = input "x" : float32[1, 2]
                %1 = primitive.constant_v1 {value = splat 0x00000000} : float32[]
                %2 = primitive.constant_v1 {value = splat 0x0000803f} : float32[2]
                %3 = broadcasting_mul_v1 %0, %0 : float32[1, 2]
                %4 = reduce_mean_v1 %3 {axes = <1>} : float32[1, 1]
                %5 = broadcasting_add_v1 %4, %1 : float32[1, 1]
                %6 = primitive.rsqrt_v1 %5 : float32[1, 1]
                %7 = broadcasting_mul_v1 %0, %6 : float32[1, 2]
                %8 = broadcasting_mul_v1 %7, %2 : float32[1, 2]
                %9 = broadcasting_mul_v1 %8, %8 : float32[1, 2]
                %10 = reduce_mean_v1 %9 {axes = <1>} : float32[1, 1]
                %11 = broadcasting_add_v1 %10, %1 : float32[1, 1]
                %12 = primitive.rsqrt_v1 %11 : float32[1, 1]
                %13 = broadcasting_mul_v1 %8, %12 : float32[1, 2]
                %14 = broadcasting_mul_v1 %13, %2 : float32[1, 2]
                output "y" %14
                """,
            inputs: [([1, 2], [2, -2])], outputs: [[1, -1]]),
    ]

    @Test(arguments: cases) func everyBackendGivesTheNumbers(_ item: Case) throws {
        let graph = try Graph(parsing: "graph \"main\" {\n\(item.text)\n}")
        for unit in ExampleTests.units {
            let inputs = item.inputs.map { input in
                TestTensor(.float32, input.shape, bytes: input.numbers.withUnsafeBytes { Bytes(copying: Array($0)) })
            }
            let outputs = try unit.run(graph, inputs).outputs.map { tensor in
                withExtendedLifetime(tensor) {
                    (0..<tensor.shape.reduce(1, *)).map { tensor.host.pointer(as: Float.self)[$0].bitPattern }
                }
            }
            #expect(outputs == item.outputs.map { $0.map(\.bitPattern) }, "\(unit.name)")
        }
    }

    /// Between convolutions an image is stored channels last; what resamples it must turn its axes too.
    @Test(arguments: ["linear", "nearest_neighbor"]) func imagesAreResampledInARegion(mode: String) throws {
        let graph = try Graph(
            parsing: """
                graph "main" {
                  %0 = input "x" : float32[1, 3, 4, 5]
                  %1 = primitive.constant_v1 {value = splat 0x0000003f} : float32[3, 3, 1, 1]
                  %2 = primitive.constant_v1 {value = bytes 0x0000803f0000803f0000004000004040} : float32[4]
                  %3 = primitive.constant_v1 {value = bytes 0x00000000000000000000003f000000bf} : float32[4]
                  %4 = primitive.conv2d_v1 %0, %1 {stride = <1, 1>, dilation = <1, 1>, groups = <1>} : float32[1, 3, 4, 5]
                  %5 = primitive.interpolate_v1 %4, %2, %3 {interpolation_mode = '\(mode)', output_shape = <1, 3, 8, 15>} : float32[1, 3, 8, 15]
                  %6 = broadcasting_add_v1 %5, %5 : float32[1, 3, 8, 15]
                  %7 = primitive.conv2d_v1 %6, %1 {stride = <1, 1>, dilation = <1, 1>, groups = <1>} : float32[1, 3, 8, 15]
                  output "y" %7
                  output "z" %5
                }
                """)
        let numbers = (0..<60).map { Float($0 * 37 % 61) - 30 }
        let input = TestTensor(.float32, [1, 3, 4, 5], bytes: numbers.withUnsafeBytes { Bytes(copying: Array($0)) })
        let results = try ExampleTests.units.map { unit in
            try unit.run(graph, [input]).outputs.map { tensor in
                withExtendedLifetime(tensor) {
                    (0..<tensor.shape.reduce(1, *)).map { tensor.host.pointer(as: Float.self)[$0] }
                }
            }
        }
        for (expected, found) in zip(results[0], results[1]) {
            #expect(expected.count == found.count && Set(expected).count > 8)
            for (a, b) in zip(expected, found) { #expect(abs(a - b) <= 1e-5 * (1 + abs(a))) }
        }
        // Op by op, nothing is turned and the table's own kernel resamples.
        guard ProcessInfo.processInfo.environment["COREAI_CPU_FUSION"] != "0" else { return }
        let kernels = try ExampleTests.units[1].prepare(graph).kernelNames
        #expect(kernels.contains("interpolate \(mode)") && kernels.filter { $0 == "transpose" }.count <= 3)
    }
}
