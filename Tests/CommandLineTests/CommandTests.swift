import Foundation
import NumpyFiles
import Testing

@Suite struct RunCommandTests {
    @Test func outputsAreWrittenAsRecorded() throws {
        try withDirectory { directory in
            let run = try Tool.run("run", unaryModel, "--input", unaryInput, "--output-dir", directory.path)
            #expect(run.status == 0 && run.errors.isEmpty)
            for text in ["main", "placement", "float32 [13]", "o18", "load", String(unaryInput.dropFirst(2))] {
                #expect(run.output.contains(text), "\(text)")
            }
            // exp
            let written = try NumpyArray(contentsOf: directory.appendingPathComponent("o10.npy"))
            let recorded = try NumpyArray(contentsOf: unary.appendingPathComponent("outputs/o10.npy"))
            #expect(written.shape == recorded.shape && written.dtype == recorded.dtype)
            for (a, b) in zip(written.floats, recorded.floats) {
                #expect(a == b || (a.isNaN && b.isNaN) || abs(a - b) <= 1e-7 + 2e-6 * abs(b))
            }
        }
    }

    @Test func jsonHasThePromisedKeys() throws {
        let run = try Tool.run("run", unaryModel, "--json", "--repeat", "3", "--warmup", "1", "--threads", "1")
        #expect(run.status == 0)
        let report = try object(run.output)
        let outputs = try #require(report["outputs"] as? [[String: Any]])
        #expect(outputs.count == 19)
        #expect(outputs.first?["name"] as? String == "o0")
        #expect(outputs.first?["shape"] as? [Int] == [13])
        #expect(outputs.first?["scalarType"] as? String == "float32")
        #expect(outputs.first?["file"] is NSNull)
        let load = try #require(report["load"] as? [String: Any])
        #expect(load["verdict"] is String)
        #expect((load["phases"] as? [String: Double])?["plan"] != nil)
        #expect(((report["run"] as? [String: Any])?["seconds"] as? [Double])?.count == 3)
        #expect((report["placement"] as? [String: Int])?.values.reduce(0, +) == 19)
        #expect(report["filledInputs"] as? [String] == ["x"])
    }

    @Test func aSeedAlwaysFillsTheSame() throws {
        func first(_ seed: String) throws -> Data {
            var bytes = Data()
            try withDirectory { directory in
                #expect(try Tool.run("run", unaryModel, "--seed", seed, "--output-dir", directory.path).status == 0)
                bytes = try Data(contentsOf: directory.appendingPathComponent("o14.npy"))
            }
            return bytes
        }
        #expect(try first("1") == first("1"))
        #expect(try first("1") != first("2"))
    }

    @Test func aPreferredUnitThatIsNotThereIsTold() throws {
        let run = try Tool.run("run", unaryModel, "--units", "neural-engine")
        #expect(run.status == 0 && run.output.contains("no Neural Engine is available"))
    }

    @Test func failuresAreOneLineAndStatus1() throws {
        try withDirectory { directory in
            let wrong = directory.appendingPathComponent("wrong.npy")
            try NumpyArray(dtype: .float64, shape: [13], data: Data(count: 104)).write(to: wrong)
            let long = directory.appendingPathComponent("long.npy")
            try NumpyArray(dtype: .float32, shape: [14], data: Data(count: 56)).write(to: long)
            let hostile = directory.appendingPathComponent("hostile.npy")
            var bytes = try Data(contentsOf: long)
            bytes.replace(Data("(14,)".utf8), with: Data("(9e9)".utf8))
            try bytes.write(to: hostile)
            let cases: [(words: [String], parts: [String])] = [
                (["/nowhere.aimodel"], ["/nowhere.aimodel", "no such file or directory"]),
                ([unaryModel, "--function", "mian"], ["no function 'mian'", "did you mean 'main'?"]),
                ([unaryModel, "--input", "y=\(long.path)"], ["has no input 'y'", "'x'"]),
                ([unaryModel, "--state", "x=\(long.path)"], ["has no state 'x'"]),
                ([unaryModel, "--shape", "x=14"], ["input 'x'", "float32 [13]", "14"]),
                (
                    [unaryModel, "--input", "x=\(wrong.path)"],
                    ["input 'x'", wrong.path, "expected float32, found float64", "astype"]
                ),
                (
                    [unaryModel, "--input", "x=\(long.path)"],
                    ["input 'x'", "expected float32 [13], found the shape [14]"]
                ),
                (
                    [unaryModel, "--input", "x=\(hostile.path)"],
                    ["input 'x'", hostile.path, "expected ')' in the header"]
                ),
                ([unaryModel, "--input", "x=/nowhere.npy"], ["/nowhere.npy", "no such file or directory"]),
                ([unaryModel, "--output-dir", wrong.path], [wrong.path, "directory"]),
            ]
            for (words, parts) in cases {
                let result = try Tool.run(["run"] + words)
                let text = result.errors
                #expect(result.status == 1 && result.output.isEmpty, "\(words)")
                #expect(text.hasPrefix("coreai: ") && text.filter { $0 == "\n" }.count == 1, "\(text)")
                for part in parts { #expect(text.contains(part), "\(text)") }
            }
        }
    }

    @Test func aFailureOnMadeUpInputsSaysSo() throws {
        let gather = fixtures.appendingPathComponent("ops/gather/model.aimodel").path
        let run = try Tool.run("run", gather)
        #expect(
            run.status == 1 && run.errors.contains("out of range") && run.errors.contains("--input gives real ones"))
    }

    @Test func aWrongHashIsRefusedUnlessIgnored() throws {
        try withDirectory { directory in
            let model = directory.appendingPathComponent("copy.aimodel")
            try FileManager.default.copyItem(at: URL(fileURLWithPath: unaryModel), to: model)
            try Data(count: 32).write(to: model.appendingPathComponent("main.hash"))
            let refused = try Tool.run("run", model.path)
            #expect(refused.status == 1 && refused.errors.contains("--ignore-hash"))
            let ignored = try Tool.run("run", model.path, "--ignore-hash")
            #expect(ignored.status == 0 && ignored.output.contains("note"))
            // Looking at an asset never takes the hash.
            #expect(try Tool.run("inspect", model.path).status == 0)
        }
    }
}

@Suite struct OtherCommandTests {
    @Test func inspectShowsWhatGoesInAndOut() throws {
        let text = try Tool.run("inspect", unaryModel)
        #expect(text.status == 0)
        for part in ["Function main", "input   x", "NDArray (Float32, 13)", "asinh", "main.mlirb"] {
            #expect(text.output.contains(part), "\(part)")
        }
        #expect(try Tool.run("inspect", unaryModel, "--graph").output.contains("graph \"main\""))
        let report = try object(try Tool.run("inspect", unaryModel, "--json").output)
        #expect(Set(["functions", "metadata", "operations", "storageTypes", "files"]).isSubset(of: report.keys))
        #expect((report["files"] as? [String: Int])?["main.hash"] == 32)
    }

    @Test func planNamesEveryOperation() throws {
        let plan = try Tool.run("plan", unaryModel, "--ops")
        #expect(plan.status == 0)
        for part in ["plan main", "segment 0", "placed", "Operations", "asinh"] {
            #expect(plan.output.contains(part), "\(part)")
        }
    }
}

extension NumpyArray {
    fileprivate var floats: [Float] { data.withUnsafeBytes { Array($0.bindMemory(to: Float.self)) } }
}
