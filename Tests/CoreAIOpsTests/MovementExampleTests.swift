import CoreAIGraph
import CoreAIOps
import Testing

@Test(arguments: movementDefinitions.map(\.name).filter { !$0.contains("image") })
func movementExamplesComeOutAsStated(_ name: String) throws {
    checkExamples(of: try #require(OpTable[name]))
}

@Test func everyMovementNameAndAliasIsInTheTable() {
    for definition in movementDefinitions {
        for name in [definition.name] + definition.aliases { #expect(OpTable[name]?.name == definition.name) }
    }
}
