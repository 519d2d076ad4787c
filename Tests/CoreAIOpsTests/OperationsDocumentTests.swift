import CoreAIOps
import Foundation
import Testing

@Suite struct OperationsDocumentTests {
    @Test func documentMatchesTheTable() throws {
        let file = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent().appendingPathComponent("Docs/Operations.md")
        if ProcessInfo.processInfo.environment["COREAI_UPDATE_GOLDENS"] == "1" {
            try OpTable.document.write(to: file, atomically: true, encoding: .utf8)
        }
        #expect(
            try String(contentsOf: file, encoding: .utf8) == OpTable.document,
            "Docs/Operations.md is out of date; COREAI_UPDATE_GOLDENS=1 rewrites it")
    }
}
