// The whole API behind one import. Client code names no other module of ours.
@_exported public import CoreAIAsset
@_exported public import CoreAIDelegates
@_exported public import CoreAIRuntime
@_exported public import enum CoreAIBackend.ComputeUnitKind
@_exported public import enum CoreAIGraph.ScalarType
