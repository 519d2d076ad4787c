package import CoreAIGraph
public struct InferenceFunctionDescriptor: Sendable {}
