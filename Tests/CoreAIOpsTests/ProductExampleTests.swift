import CoreAIGraph
import CoreAIOps
import Testing

@Test(arguments: (reductionDefinitions + productDefinitions).map(\.name))
func reductionAndProductExamplesComeOutAsStated(_ name: String) throws {
    checkExamples(of: try #require(OpTable[name]))
}
