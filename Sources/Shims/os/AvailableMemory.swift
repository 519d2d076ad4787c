import CoreAIBackend

/// The bytes this process may still take: what the system has available, or less where a control group limits it.
public func os_proc_available_memory() -> Int { availableMemory() }
