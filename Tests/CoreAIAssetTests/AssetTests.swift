import CoreAIAsset
import CoreAIGraph
import Foundation
import Testing

private let fixtures = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
    .appendingPathComponent("Fixtures")

private func fixture(_ name: String) -> URL { fixtures.appendingPathComponent("ops/\(name)/model.aimodel") }

private func assets() -> [URL] {
    guard let files = FileManager.default.enumerator(at: fixtures, includingPropertiesForKeys: nil) else { return [] }
    return files.compactMap { $0 as? URL }.filter { $0.pathExtension == "aimodel" }.sorted { $0.path < $1.path }
}

private func program(_ name: String) throws -> Program {
    try #require(try LoadedAsset(contentsOf: fixture(name)).program())
}

private func bytecode(_ name: String) throws -> [UInt8] {
    Array(try Data(contentsOf: fixture(name).appendingPathComponent("main.mlirb")))
}

/// A directory that is removed afterwards.
private func withDirectory(_ name: String = "test.aimodel", _ body: (URL) throws -> Void) throws {
    let parent = FileManager.default.temporaryDirectory.appendingPathComponent("asset-\(UUID().uuidString)")
    let url = parent.appendingPathComponent(name)
    try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: parent) }
    try body(url)
}

private func withCopy(of name: String, _ body: (URL) throws -> Void) throws {
    try withDirectory { url in
        for file in try FileManager.default.contentsOfDirectory(atPath: fixture(name).path) {
            try FileManager.default.copyItem(
                at: fixture(name).appendingPathComponent(file), to: url.appendingPathComponent(file))
        }
        try body(url)
    }
}

/// The error that opening `url` and reading its program ends with.
private func failure(_ url: URL) -> AssetError? {
    do {
        let asset = try AIModelAsset(contentsOf: url)
        _ = try asset.summary(includingStatistics: false)
        return nil
    } catch { return error as? AssetError }
}

extension AssetError {
    fileprivate func says(_ texts: String...) -> Bool { texts.allSatisfy { errorDescription?.contains($0) == true } }
    fileprivate var isVersion: Bool { if case .unsupportedVersion = kind { true } else { false } }
}

@Suite struct Fixtures {
    @Test func everyAssetIsReadAndSummarized() throws {
        let all = assets()
        #expect(!all.isEmpty)
        for url in all {
            let summary = try #require(try AIModelAsset(contentsOf: url).summary(includingStatistics: true))
            #expect(!summary.functions.isEmpty, "\(url.path)")
            #expect(!summary.operationDistribution.isEmpty, "\(url.path)")
            try compare(summary, withCaseBeside: url)
        }
    }

    /// Where the case beside an asset recorded Core AI's own summary, ours is the same.
    private func compare(_ summary: AIModelAsset.Summary, withCaseBeside url: URL) throws {
        let file = url.deletingLastPathComponent().appendingPathComponent("case.json")
        guard let data = try? Data(contentsOf: file),
            let json = try JSONSerialization.jsonObject(with: data) as? [String: Any],
            let recorded = json["asset_summary"] as? [String: Any]
        else { return }
        func pairs(_ key: String) -> [String]? {
            (recorded[key] as? [[Any]])?.map { $0.map { "\($0)" }.joined(separator: " ") }
        }
        if let want = pairs("storage_types") {
            #expect(summary.storageTypes.map { "\($0.typeName) \($0.count)" } == want, "\(url.path)")
        }
        if let want = pairs("operation_distribution") {
            #expect(summary.operationDistribution.map { "\($0.operationName) \($0.count)" } == want, "\(url.path)")
        }
        if let want = recorded["compute_types"] as? [String] { #expect(summary.computeTypes == want, "\(url.path)") }
        guard let functions = recorded["functions"] as? [String: [String: [[String]]]] else { return }
        #expect(Set(summary.functions.map(\.name)) == Set(functions.keys))
        for function in summary.functions {
            for (kind, values) in [
                ("inputs", function.inputs), ("states", function.states), ("outputs", function.outputs),
            ] {
                #expect(
                    values.map { [$0.name, $0.typeName] } == functions[function.name]?[kind] ?? [],
                    "\(url.path) \(kind)")
            }
        }
    }

    @Test func calleesAreNamesOfGraphs() throws {
        let program = try program("multi_function")
        #expect(program.graphs.map(\.name) == ["scale_by", "first", "second"])
        let callees = program.graphs.flatMap(\.ops).compactMap { $0[attribute: "callee"] }
        #expect(callees.count == 3)
        #expect(Set(callees).isSubset(of: program.graphs.map { .symbol([$0.name]) }))
    }

    @Test func branchesCaptureWhatTheyUse() throws {
        let graph = try #require(try program("if_else").graphs.first)
        let branch = try #require(graph.ops.first { $0.name == "controlflow.if_v1" })
        #expect(branch.regions.count == 2)
        for region in branch.regions {
            #expect(region.captures == [ValueID(1)])
            #expect(region.inputs.count == 1)
            #expect(region.outputs.count == 1)
        }
    }

    @Test func conditionsLeadTheOutputsOfALoopsFirstRegion() throws {
        let graph = try #require(try program("while_loop").graphs.first)
        let loop = try #require(graph.ops.first { $0.name == "controlflow.while_v1" })
        let condition = try #require(loop.regions.first)
        #expect(condition.outputs.count == loop.results.count + 1)
        #expect(condition.outputs.first.map { condition[$0.value].type } == .tensor(TensorType(.bool, [])))
    }

    @Test func statesAreHandleInputs() throws {
        let summary = try #require(
            try AIModelAsset(contentsOf: fixture("state_accumulate")).summary(includingStatistics: false))
        #expect(summary.functions.first?.states.map(\.name) == ["acc"])
        #expect(summary.functions.first?.states.map(\.typeName) == ["NDArray (Float32, 4)"])
    }

    @Test func weightsAreSlicesOfTheFile() throws {
        let file = try MappedFile(path: fixture("weights_resource_types").appendingPathComponent("main.mlirb").path)
        let program = try Program(bytecode: file.bytes, file: "main.mlirb")
        let start = UInt(bitPattern: file.bytes.unsafeBaseAddress)
        for case .elements(let constant)? in program.graphs.flatMap(\.ops).map({ $0[attribute: "value"] }) {
            let address = UInt(bitPattern: constant.bytes.unsafeBaseAddress)
            #expect(address >= start && address + UInt(constant.bytes.count) <= start + UInt(file.bytes.count))
        }
    }

    @Test func truncatedProgramsAreRefused() throws {
        let bytes = try bytecode("activations")
        for count in stride(from: 0, to: bytes.count, by: 37) {
            #expect(fault(Array(bytes.prefix(count))) != nil, "\(count) bytes")
        }
    }
}

@Suite struct Versions {
    @Test func newerProgramsAreUnsupported() throws {
        var graph = OneGraph()
        graph.version = 20_270_101
        let output = graph.writer.op("dataflow.output_v1")
        let bytes = graph.file(graph.region(values: 0, [graph.op(output)]))
        try withDirectory { url in
            try Data(bytes).write(to: url.appendingPathComponent("main.mlirb"))
            let error = try #require(failure(url))
            #expect(error.isVersion && error.says("asset version 20270101, this runtime reads up to 20260409"))
        }
    }

    @Test func otherBytecodeIsUnsupported() throws {
        var bytes = try bytecode("activations")
        bytes[4] = 7 << 1 | 1
        try withDirectory { url in
            try Data(bytes).write(to: url.appendingPathComponent("main.mlirb"))
            #expect(failure(url)?.isVersion == true)
        }
    }

    @Test func otherMetadataIsUnsupported() throws {
        try withCopy(of: "activations") { url in
            let file = url.appendingPathComponent("metadata.json")
            try Data(#"{"assetVersion": "3.1"}"#.utf8).write(to: file)
            let error = try #require(failure(url))
            #expect(error.isVersion && error.says("asset 3.1, this runtime reads up to 2.x"))
            try Data(#"{"assetVersion": "2.5"}"#.utf8).write(to: file)
            #expect(failure(url) == nil)
            try Data("{}".utf8).write(to: file)
            #expect(failure(url)?.says("assetVersion") == true)
        }
    }
}

@Suite struct Directories {
    @Test func whatIsNoAssetIsSaidToBeNone() throws {
        try withDirectory { url in
            #expect(failure(url.appendingPathComponent("none.aimodel"))?.says("no such file or directory") == true)
            #expect(failure(url)?.says("main.mlirb", "metadata.json", "empty directory") == true)
            let file = url.appendingPathComponent("file.aimodel")
            try Data("x".utf8).write(to: file)
            #expect(failure(file)?.says("expected a directory", "found a file") == true)
            #expect(failure(url)?.says("found file.aimodel") == true)
            #expect(failure(try #require(URL(string: "https://example.com/a.aimodel")))?.says("file URL") == true)
        }
    }

    @Test func aBundleLeadsToTheAssetInIt() throws {
        try withDirectory("bundle") { url in
            try Data(#"{"assetVersion": "2.0"}"#.utf8).write(to: url.appendingPathComponent("metadata.json"))
            let inner = url.appendingPathComponent("part/inner.aimodel")
            try FileManager.default.createDirectory(
                at: inner.deletingLastPathComponent(), withIntermediateDirectories: true)
            try FileManager.default.copyItem(at: fixture("activations"), to: inner)
            #expect(failure(url)?.says("bundle", inner.path) == true)
        }
    }

    @Test(.disabled(if: geteuid() == 0, "root may read everything")) func missingPermissionIsNamed() throws {
        try withCopy(of: "activations") { url in
            chmod(url.path, 0)
            defer { chmod(url.path, 0o755) }
            #expect(failure(url)?.says("permission denied") == true)
        }
    }

    @Test func validityIsAMatterOfNameAndContent() throws {
        #expect(AIModelAsset.isValid(at: fixture("activations")))
        #expect(!AIModelAsset.isValid(at: fixtures))
        try withDirectory("a.aimodelc") { url in
            #expect(!AIModelAsset.isValid(at: url))
            try Data().write(to: url.appendingPathComponent("main.odix"))
            #expect(AIModelAsset.isValid(at: url))
            #expect(try AIModelAsset(contentsOf: url).summary(includingStatistics: true) == nil)
        }
    }

    @Test func derivedArtifactsGoAndTheProgramStays() throws {
        try withCopy(of: "activations") { url in
            try Data().write(to: url.appendingPathComponent("main.odix"))
            var asset = try AIModelAsset(contentsOf: url)
            try asset.removeDerivedArtifacts()
            #expect(
                Set(try FileManager.default.contentsOfDirectory(atPath: url.path)) == [
                    "main.mlirb", "main.hash", "metadata.json",
                ])
        }
    }
}

@Suite struct Hashes {
    @Test func aRightHashIsTheDigest() throws {
        let asset = try LoadedAsset(contentsOf: fixture("activations"))
        let (digest, note) = try asset.verifiedDigest(ignoringHash: false)
        #expect(note == nil)
        #expect(Data(digest.bytes) == (try Data(contentsOf: asset.directory.hash)))
    }

    @Test func aWrongHashIsRefusedUnlessIgnored() throws {
        try withCopy(of: "activations") { url in
            let zeros = String(repeating: "00", count: 32)
            try Data(count: 32).write(to: url.appendingPathComponent("main.hash"))
            #expect(failure(url) == nil)
            let asset = try LoadedAsset(contentsOf: url)
            let found = try asset.verifiedDigest(ignoringHash: true).digest
            let error = #expect(throws: AssetError.self) { try asset.verifiedDigest(ignoringHash: false) }
            #expect(error?.says(zeros, "\(found)", "--ignore-hash", "COREAI_IGNORE_HASH=1") == true)
            #expect(try asset.verifiedDigest(ignoringHash: true).note?.contains(zeros) == true)
        }
    }

    @Test func aTruncatedProgramIsSaidToBeOne() throws {
        try withCopy(of: "activations") { url in
            let file = url.appendingPathComponent("main.mlirb")
            try Data(contentsOf: file).prefix(1000).write(to: file)
            let error = #expect(throws: AssetError.self) {
                try LoadedAsset(contentsOf: url).verifiedDigest(ignoringHash: false)
            }
            #expect(error?.says("1000 bytes") == true)
        }
    }

    @Test func aMissingHashIsNoted() throws {
        try withCopy(of: "activations") { url in
            try FileManager.default.removeItem(at: url.appendingPathComponent("main.hash"))
            #expect(try LoadedAsset(contentsOf: url).verifiedDigest(ignoringHash: false).note != nil)
            try Data(count: 31).write(to: url.appendingPathComponent("main.hash"))
            #expect(throws: AssetError.self) { try LoadedAsset(contentsOf: url).verifiedDigest(ignoringHash: false) }
        }
    }
}

@Suite struct MetadataFiles {
    @Test func updatesKeepWhatTheyDoNotKnow() throws {
        try withCopy(of: "activations") { url in
            let file = url.appendingPathComponent("metadata.json")
            try Data(
                #"{"assetVersion":"2.0","creationDate":"20261130T002222Z","future":{"a":[1,2.0,null,"\u00e9\/"]},"author":"A","creatorDefinedMetadata":{"n":1,"x":1.0,"b":true,"l":[1,"two"],"d":{"k":0.5}}}"#
                    .utf8
            ).write(to: file)
            var asset = try AIModelAsset(contentsOf: url)
            #expect(asset.metadata.author == "A")
            #expect(asset.metadata.license == "")
            #expect(asset.metadata.creationDate == Date(timeIntervalSince1970: 1_795_998_142))
            #expect(asset.metadata["n"] == 1)
            #expect(asset.metadata["n", Double.self] == nil)
            #expect(asset.metadata["x"] == 1.0)
            #expect(asset.metadata["b"] == true)
            #expect(asset.metadata["l"] == [1, "two"])
            #expect(asset.metadata["d"] == ["k": 0.5])
            try asset.updateMetadata {
                $0.author = ""
                $0.license = "MIT \"quoted\"\n"
                $0["b", Bool.self] = nil
                $0["new"] = 1000
            }
            let again = try AIModelAsset(contentsOf: url).metadata
            #expect(again.author == "" && again.license == "MIT \"quoted\"\n")
            #expect(again.creatorDefinedMetadata == ["n": 1, "x": 1.0, "l": [1, "two"], "d": ["k": 0.5], "new": 1000])
            #expect(again.creationDate == asset.metadata.creationDate)
            let text = try String(contentsOf: file, encoding: .utf8)
            #expect(
                text.contains("\"future\"") && text.contains("2.0") && text.contains("é/")
                    && !text.contains("\"author\""))
            #expect(try FileManager.default.contentsOfDirectory(atPath: url.path).count == 3)
        }
    }

    @Test func aThrowingUpdateWritesNothing() throws {
        struct Stop: Error {}
        try withCopy(of: "activations") { url in
            let file = url.appendingPathComponent("metadata.json")
            let before = try Data(contentsOf: file)
            var asset = try AIModelAsset(contentsOf: url)
            #expect(throws: Stop.self) {
                try asset.updateMetadata {
                    $0.author = "x"
                    throw Stop()
                }
            }
            #expect(throws: AssetError.self) { try asset.updateMetadata { $0["n"] = Double.nan } }
            #expect(try Data(contentsOf: file) == before)
            #expect(asset.metadata.author != "x")
        }
    }

    @Test func damagedTextIsRefusedWithItsPlace() throws {
        try withCopy(of: "activations") { url in
            for text in [
                "", "{", "[]", #"{"assetVersion":2}"#, #"{"assetVersion":"2.0",}"#,
                #"{"assetVersion":"2.0","author":1}"#,
                #"{"assetVersion":"2.0","creatorDefinedMetadata":{"a":[null]}}"#, String(repeating: "[", count: 10_000),
            ] {
                try Data(text.utf8).write(to: url.appendingPathComponent("metadata.json"))
                #expect(failure(url)?.says("metadata.json", "expected", "found") == true, "\(text.prefix(60))")
            }
            try Data(#"{"assetVersion":"2.0","creationDate":"20260231T000000Z"}"#.utf8)
                .write(to: url.appendingPathComponent("metadata.json"))
            #expect(try AIModelAsset(contentsOf: url).metadata.creationDate == nil)
        }
    }
}
