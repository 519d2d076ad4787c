import Foundation
import Testing

/// Which room may import which: the arrows of Docs/Architecture.md.
@Suite struct ArrowTests {
    static let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent()

    /// For each room, all of ours that it may import. A room that is missing here fails.
    static let allowed: [String: Set<String>] = [
        "Sources/CoreAIGraph": [],
        "Sources/CoreAIOps": ["CoreAIGraph", "CKernels"],
        "Sources/CoreAIAsset": ["CoreAIGraph", "CSHA256"],
        "Sources/CoreAIBackend": ["CoreAIGraph", "CoreAIOps", "CKernels"],
        "Sources/CoreAIPlanner": ["CoreAIGraph", "CoreAIOps", "CoreAIBackend"],
        "Sources/CoreAIRuntime": ["CoreAIGraph", "CoreAIOps", "CoreAIBackend"],
        "Sources/CoreAIDelegates": [
            "CoreAIGraph", "CoreAIOps", "CoreAIAsset", "CoreAIBackend", "CoreAIPlanner", "CoreAIRuntime",
        ],
        "Sources/CoreAI": [
            "CoreAIGraph", "CoreAIAsset", "CoreAIBackend", "CoreAIRuntime", "CoreAIDelegates", "ReferenceBackend",
            "OpenBLASBackend",
        ],
        "Sources/NumpyFiles": ["CoreAIGraph"],
        "Sources/coreai": [
            "CoreAI", "CoreAIGraph", "CoreAIOps", "CoreAIAsset", "CoreAIBackend", "CoreAIRuntime", "CoreAIDelegates",
            "NumpyFiles",
        ],
        "Sources/Shims/os": ["CoreAIBackend"],
        "Sources/Shims/Metal": ["CoreAIRuntime"],
        "Sources/Shims/CoreVideo": ["CoreAIRuntime"],
        "Sources/Shims/IOSurface": ["CoreAIRuntime"],
        "Sources/Shims/CoreGraphics": ["CoreAIRuntime", "CoreVideo", "IOSurface", "Metal"],
        "Backends/Reference": ["CoreAIGraph", "CoreAIOps", "CoreAIBackend"],
        "Backends/OpenBLAS": ["CoreAIGraph", "CoreAIOps", "CoreAIBackend", "COpenBLAS", "CKernels"],
        "Examples/ReadingText": ["CoreAI"],
    ]

    @Test func roomsImportOnlyWhatTheyMay() throws {
        let ours = Set(Self.allowed.values.joined()).union(
            Self.allowed.keys.compactMap { $0.split(separator: "/").last.map(String.init) })
        var seen: Set<String> = []
        for file in try swiftFiles() {
            guard let room = Self.allowed.keys.filter({ file.hasPrefix($0 + "/") }).max(by: { $0.count < $1.count })
            else {
                Issue.record("\(file) is in a room without arrows")
                continue
            }
            seen.insert(room)
            for module in try imports(of: file) where ours.contains(module) {
                #expect(Self.allowed[room]?.contains(module) == true, "\(file) imports \(module)")
            }
        }
        #expect(seen == Set(Self.allowed.keys))
    }

    private func swiftFiles() throws -> [String] {
        try ["Sources", "Backends", "Examples"].flatMap { folder in
            try FileManager.default.subpathsOfDirectory(atPath: Self.root.appendingPathComponent(folder).path)
                .filter { $0.hasSuffix(".swift") }.map { "\(folder)/\($0)" }
        }
    }

    private func imports(of file: String) throws -> [String] {
        let text = try String(contentsOf: Self.root.appendingPathComponent(file), encoding: .utf8)
        return text.split(separator: "\n").compactMap { line in
            let words = line.split(separator: " ").map(String.init)
            guard let place = words.firstIndex(of: "import"),
                words[..<place].allSatisfy({ $0.hasPrefix("@") || ["public", "package"].contains($0) })
            else { return nil }
            // `import enum Module.Name` names its module before the dot.
            return words.last?.split(separator: ".").first.map(String.init)
        }
    }
}
