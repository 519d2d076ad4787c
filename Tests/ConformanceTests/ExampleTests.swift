import CoreAIBackend
import CoreAIOps
import CoreAITestSupport
import OpenBLASBackend
import ReferenceBackend
import Testing

/// Every example of the op table, in every form, on every backend.
@Suite struct ExampleTests {
    static let units: [TestUnits] = {
        do {
            return [
                try TestUnits("reference", [ReferenceBackend()]),
                try TestUnits("openblas", [OpenBLASBackend(), ReferenceBackend()]),
            ]
        } catch {
            preconditionFailure("the built-in backends open no device: \(error)")
        }
    }()

    @Test(arguments: OpTable.definitions.map(\.name)) func examplesHoldOnEveryBackend(name: String) {
        for example in ExampleCase.all() where example.definition.name == name {
            for unit in Self.units {
                for failure in example.failures(on: unit) { Issue.record("\(failure)") }
            }
        }
    }

    @Test func everyDefinitionHasAnExample() {
        let without = OpTable.definitions.filter { $0.examples.isEmpty }.map(\.name)
        #expect(without.allSatisfy { Self.withoutExample[$0] != nil }, "\(without)")
    }

    /// Ops that no example can hold, with the reason.
    static let withoutExample: [String: String] = [
        "primitive.image_to_tensor_v1": "images have no array form",
        "primitive.tensor_to_image_v1": "images have no array form",
        "controlflow.if_v1": "regions have no example form; recorded cases hold them",
        "controlflow.while_v1": "regions have no example form; recorded cases hold them",
    ]

    @Test func everyDefinitionIsInTheTableOnce() {
        let names = OpTable.definitions.flatMap { [$0.name] + $0.aliases }
        #expect(Set(names).count == names.count)
        for name in names { #expect(OpTable[name] != nil) }
    }
}
