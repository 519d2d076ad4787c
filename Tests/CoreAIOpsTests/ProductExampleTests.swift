import CoreAIGraph
import CoreAIOps
import Testing

@Test(arguments: reductionDefinitions.map(\.name))
func reductionExamplesComeOutAsStated(_ name: String) throws {
    checkExamples(of: try #require(OpTable[name]))
}
