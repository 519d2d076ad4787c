import CoreAI
import Foundation
import Testing

/// User cases 1 to 5: the same, right numbers on every unit.
@Suite struct NumberTests {
    /// UC-01
    @Test func roundingFamily() async throws {
        let x: [Float] = [2.5, -2.5, 3.5, -3.5, 0.49, -0.49, 7.999, -7.001, 1_000_000.5]
        let floor: [Float] = [2, -3, 3, -4, 0, -1, 7, -8, 1_000_000]
        let expected: [String: [Float]] = [
            "floor": floor, "floordiv1": floor, "floordiv2": floor,
            "truncate": [2, -2, 3, -3, 0, 0, 7, -7, 1_000_000],
            "ceiling": [3, -2, 4, -3, 1, 0, 8, -7, 1_000_001],
            "round": [2, -2, 4, -4, 0, 0, 8, -7, 1_000_000],
        ]
        for (unit, main) in try await Models.mains("uc01_rounding") {
            var outputs = try await main.run(inputs: ["x": NDArray(scalars: x, shape: [9])])
            for (name, values) in expected {
                // == ignores the sign of zero, as the case allows.
                let foundFloat = outputs.elements(name, Float.self)
                #expect(foundFloat == values, "\(name) on \(unit)")
            }
        }
    }

    /// UC-02
    @Test func classMapFromHalfPrecisionScores() async throws {
        var scores: [Float16] = []
        for c in 0..<19 {
            for h in 0..<24 {
                for w in 0..<40 { scores.append(Float16((7 * c + 3 * h + 5 * w) % 19 - 9)) }
            }
        }
        for (unit, main) in try await Models.mains("uc02_class_map") {
            var outputs = try await main.run(inputs: [
                "scores": NDArray(scalars: scores, shape: [1, 19, 24, 40])
            ])
            let int32 = (outputs.elements("as_int32", Int32.self) ?? []).map(Int.init)
            let uint8 = (outputs.elements("as_uint8", UInt8.self) ?? []).map(Int.init)
            let float16 = (outputs.elements("as_float16", Float16.self) ?? []).map { Int($0) }
            for h in 0..<24 {
                for w in 0..<40 {
                    let want = (11 * (18 - 3 * h - 5 * w) % 19 + 19) % 19
                    #expect(int32[h * 40 + w] == want, "\(h), \(w) on \(unit)")
                }
            }
            #expect(Array(int32[..<8]) == [8, 10, 12, 14, 16, 18, 1, 3])
            #expect(int32.last == 11)
            #expect(int32.reduce(0, +) == 8645)
            #expect(uint8 == int32)
            #expect(float16 == int32)
        }
    }

    /// UC-03
    @Test func inRangeMask() async throws {
        let x: [Float] = [-0.30, -0.01, 0, 0.06, 0.49, 0.94, 0.99, 1.0, 1.20]
        let m: [Float] = [0, 0, 1, 1, 1, 1, 1, 0, 0]
        for (unit, main) in try await Models.mains("uc03_mask") {
            var outputs = try await main.run(inputs: ["x": NDArray(scalars: x, shape: [9])])
            for name in ["m", "m_product", "m_minimum"] {
                let foundFloat = outputs.elements(name, Float.self)
                #expect(foundFloat == m, "\(name) on \(unit)")
            }
            let foundFloat = outputs.elements("mx", Float.self)
            #expect(foundFloat == [0, 0, 0, 0.06, 0.49, 0.94, 0.99, 0, 0])
        }
    }

    /// UC-04
    @Test(arguments: ["uc04_distances_swap", "uc04_distances_expand"])
    func pairwiseSquaredDistances(model: String) async throws {
        let x: [Float] = [0, 0, 3, 4, 6, 8]
        let y: [Float] = [1, 0, 0, 2, 5, 5]
        for (unit, main) in try await Models.mains(model) {
            var outputs = try await main.run(inputs: [
                "x": NDArray(scalars: x, shape: [1, 3, 2]), "y": NDArray(scalars: y, shape: [1, 3, 2]),
            ])
            let foundFloat = outputs.elements("d", Float.self)
            #expect(foundFloat == [1, 4, 50, 20, 13, 5, 89, 72, 10], "\(unit)")
        }
    }

    /// UC-05
    @Test func nothingIsAlsoATensor() async throws {
        let x = NDArray(scalars: [1, 2, 3, 4, 5, 6] as [Float], shape: [2, 3])
        for (unit, main) in try await Models.mains("uc05_split") {
            var outputs = try await main.run(inputs: ["x": x])
            let foundFloat = outputs.elements("y", Float.self)
            #expect(foundFloat == [2, 3, 4, 5, 6, 7], "\(unit)")
        }
        for (unit, main) in try await Models.mains("uc05_slice") {
            var outputs = try await main.run(inputs: ["x": x])
            let shape = try outputs.array("y").shape
            #expect(shape == [2, 0], "\(unit)")
        }
        for (unit, main) in try await Models.mains("uc05_concat") {
            var outputs = try await main.run(inputs: ["x": x])
            let foundFloat = outputs.elements("y", Float.self)
            #expect(foundFloat == [1, 2, 3, 4, 5, 6], "\(unit)")
        }
    }

    /// UC-14, as far as one process and the CPU go: lengths in random order are right and need no second plan.
    @Test func sixtyFourLengths() async throws {
        let (a, b) = (try matrix("uc14_a"), try matrix("uc14_b"))
        for (unit, main) in try await Models.mains("uc14_lengths") {
            // Twice through 1 to 64, in an order without order.
            for n in (0..<128).map({ $0 * 37 % 64 + 1 }) {
                let x = (0..<n * 64).map { Float(($0 * 37 + n) % 101) / 50 - 1 }
                var outputs = try await main.run(inputs: ["x": NDArray(scalars: x, shape: [n, 64])])
                let y = try outputs.array("y")
                #expect(y.shape == [n, 64])
                let want = product(softmax(product(x.map(Double.init), a)), b)
                for (got, want) in zip(y.elements(Float.self), want) {
                    guard abs(Double(got) - want) < 1e-5 else {
                        Issue.record("n = \(n) on \(unit): \(got), expected \(want)")
                        return
                    }
                }
            }
            #expect(main.planCount == 1, "\(unit)")
        }
    }

    /// A 64 by 64 matrix of f32 from the tail of an .npy file.
    private func matrix(_ name: String) throws -> [Double] {
        let data = try Data(contentsOf: Models.folder.appendingPathComponent("usercases/\(name).npy"))
            .suffix(64 * 64 * 4)
        return data.withUnsafeBytes { bytes in
            (0..<64 * 64).map { Double(bytes.loadUnaligned(fromByteOffset: 4 * $0, as: Float.self)) }
        }
    }

    private func product(_ x: [Double], _ w: [Double]) -> [Double] {
        var y = [Double](repeating: 0, count: x.count)
        for row in 0..<x.count / 64 {
            for k in 0..<64 {
                for column in 0..<64 { y[row * 64 + column] += x[row * 64 + k] * w[k * 64 + column] }
            }
        }
        return y
    }

    private func softmax(_ x: [Double]) -> [Double] {
        stride(from: 0, to: x.count, by: 64).flatMap { start -> [Double] in
            let row = x[start..<start + 64]
            let top = row.max() ?? 0
            let powers = row.map { exp($0 - top) }
            return powers.map { $0 / powers.reduce(0, +) }
        }
    }
}
