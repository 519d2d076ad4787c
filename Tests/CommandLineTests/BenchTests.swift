import Foundation
import Testing

private let product = fixtures.appendingPathComponent("ops/matmul/model.aimodel").path

@Suite struct BenchTests {
    @Test func benchMeasuresWhatItSays() throws {
        let text = try Tool.run("bench", unaryModel, "--repeat", "5")
        #expect(text.status == 0)
        for part in ["threads", "peak memory", "first run", "5 runs", "median"] {
            #expect(text.output.contains(part), "\(part)")
        }
        // Nothing to count, nothing to compare with.
        #expect(!text.output.contains("GFLOP/s") && !text.output.contains("ratio, median"))
        let report = try object(try Tool.run("bench", unaryModel, "--repeat", "5", "--threads", "1", "--json").output)
        #expect(report["threads"] as? Int == 1)
        #expect(((report["run"] as? [String: Any])?["seconds"] as? [Double])?.count == 5)
        #expect(report["productOperations"] as? Double == 0)
    }

    /// The numbers are those of the shapes in the fixtures' case.json: 2·M·N·K, and results times taps.
    @Test(arguments: [
        ("matmul", 2 * (15 * 4 + 6 * 4 + 12 * 4)),
        ("conv2d", 2 * (144 * 24 + 60 * 24 + 72 * 8 + 80 * 9)),
        ("conv_transpose2d", 2 * (36 * 18 + 36 * 18 + 36 * 8)),
    ])
    func productsAreCounted(_ fixture: String, _ count: Int) throws {
        let model = fixtures.appendingPathComponent("ops/\(fixture)/model.aimodel").path
        let report = try object(try Tool.run("bench", model, "--repeat", "1", "--json").output)
        #expect(report["productOperations"] as? Double == Double(count))
        #expect(try Tool.run("bench", model, "--repeat", "1").output.contains("GFLOP/s"))
    }

    @Test func severalModelsAreOneTable() throws {
        let text = try Tool.run("bench", unaryModel, product, "--repeat", "3", "--threads", "1")
        let lines = text.output.split(separator: "\n")
        #expect(text.status == 0 && lines.count == 3)
        for (line, part) in zip(lines, ["GFLOP/s", unaryModel, product]) { #expect(line.contains(part)) }
        let json = try Tool.run("bench", unaryModel, product, "--repeat", "3", "--json").output
        let reports = try #require(try JSONSerialization.jsonObject(with: Data(json.utf8)) as? [[String: Any]])
        #expect(reports.map { $0["model"] as? String } == [unaryModel, product])
    }

    @Test func aModelThatFailsLeavesTheOthersTheirRows() throws {
        let text = try Tool.run("bench", "/nowhere.aimodel", unaryModel, "--repeat", "3")
        #expect(text.status == 1 && text.output.contains(unaryModel))
        for part in ["coreai: 1 of 2 models", "/nowhere.aimodel", "no such file or directory"] {
            #expect(text.errors.contains(part), "\(text.errors)")
        }
        #expect(text.errors.filter { $0 == "\n" }.count == 1)
    }

    @Test func theOtherCommandTakesItsTurnEachRound() throws {
        try withDirectory { directory in
            let calls = directory.appendingPathComponent("calls")
            let command = "echo $COREAI_BENCH_MODEL $COREAI_BENCH_THREADS >> '\(calls.path)'; echo ms: 250.5"
            let words = ["bench", unaryModel, "--repeat", "7", "--rounds", "3", "--threads", "1", "--compare", command]
            let report = try object(try Tool.run(words + ["--json"]).output)
            let compare = try #require(report["compare"] as? [String: Any])
            #expect(compare["seconds"] as? [Double] == [0.2505, 0.2505, 0.2505])
            #expect(compare["isTold"] as? Bool == true)
            #expect((compare["ratios"] as? [Double])?.count == 3)
            #expect(((report["run"] as? [String: Any])?["seconds"] as? [Double])?.count == 7)
            let written = try String(contentsOf: calls, encoding: .utf8)
            #expect(written == String(repeating: "\(unaryModel) 1\n", count: 3))
            let text = try Tool.run(words)
            for part in ["compared, 3 rounds", "as it tells", "250 ms", "ratio, median"] {
                #expect(text.output.contains(part), "\(text.output)")
            }
        }
    }

    @Test func aCommandThatTellsNoTimeIsTimedWhole() throws {
        let words = ["bench", unaryModel, "--repeat", "1", "--rounds", "1", "--compare", "sleep 0.2"]
        let compare = try #require(try object(try Tool.run(words + ["--json"]).output)["compare"] as? [String: Any])
        #expect(compare["isTold"] as? Bool == false)
        #expect((compare["median"] as? Double ?? 0) >= 0.2)
        #expect(try Tool.run(words).output.contains("of whole processes"))
    }

    @Test(arguments: [
        ("echo one >&2; echo no such peer >&2; exit 3", "ended with status 3: no such peer"),
        ("exit 4", "ended with status 4: nothing on standard error"),
        ("kill -9 $$", "ended with signal 9"),
        ("echo ms: soon", "printed 'ms: soon', expected a positive number after 'ms:'"),
        ("echo ms: -1", "expected a positive number"),
    ])
    func aCommandThatFailsIsAFailure(_ command: String, _ hint: String) throws {
        let result = try Tool.run("bench", unaryModel, "--seconds", "1", "--rounds", "1", "--compare", command)
        #expect(result.status == 1 && result.output.isEmpty)
        #expect(result.errors.hasPrefix("coreai: --compare: ") && result.errors.contains(hint), "\(result.errors)")
        #expect(result.errors.filter { $0 == "\n" }.count == 1)
    }
}
