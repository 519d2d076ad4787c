import CoreAI
import CoreAIDelegates
import CoreAITestSupport
import Foundation
import ReferenceBackend
import Testing

/// Every recorded case, with the backends in their usual order and on the reference backend alone.
@Suite struct FixtureTests {
    static let folder = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .appendingPathComponent("Fixtures")

    static let cases: [FixtureCase] = ["ops", "models"].flatMap { kind -> [FixtureCase] in
        do {
            return try FixtureCase.all(in: folder.appendingPathComponent(kind))
        } catch {
            preconditionFailure("Tests/Fixtures/\(kind): \(error)")
        }
    }

    @Test(arguments: cases.map(\.name)) func defaultUnits(name: String) async throws {
        try await check(name) { url in
            let model = try await AIModel(contentsOf: url)
            return { try model.loadFunction(named: $0) }
        }
    }

    @Test(arguments: cases.map(\.name)) func referenceAlone(name: String) async throws {
        try await check(name) { url in
            let registry = BackendRegistry([ReferenceBackend()])
            let model = try await AIModel(contentsOf: url, options: .cpuOnly, registry: registry)
            return { try model.loadFunction(named: $0) }
        }
    }

    private func check(_ name: String, _ load: @escaping FixtureCase.Loader) async throws {
        let fixture = try #require(Self.cases.first { $0.name == name })
        guard let reason = Self.waiting[name] else {
            for failure in try await fixture.failures(load) { Issue.record("\(failure)") }
            return
        }
        // A case that waits must be refused in words that say why; when it passes, it waits no longer.
        do {
            let failures = try await fixture.failures(load)
            Issue.record("\(name) waits for \(reason) and runs (\(failures.count) differences): take it off the list")
        } catch {
            let text = error.localizedDescription
            #expect(text.contains(reason.words), "\(name) waits for \(reason), and was refused with: \(text)")
        }
    }

    @Test func everyWaitingCaseExists() {
        let names = Set(Self.cases.map(\.name))
        #expect(Self.waiting.keys.allSatisfy(names.contains))
    }
}
