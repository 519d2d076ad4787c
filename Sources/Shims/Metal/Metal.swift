@_exported import protocol CoreAIRuntime.MTLBuffer
@_exported import protocol CoreAIRuntime.MTLCommandQueue
@_exported import func CoreAIRuntime.MTLCreateSystemDefaultDevice
@_exported import protocol CoreAIRuntime.MTLDevice
@_exported import struct CoreAIRuntime.MTLResourceOptions
