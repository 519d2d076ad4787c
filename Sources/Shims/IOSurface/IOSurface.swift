@_exported import class CoreAIRuntime.IOSurface
