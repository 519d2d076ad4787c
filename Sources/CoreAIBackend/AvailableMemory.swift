import Foundation

/// The bytes this process may still take: what the system has available, or less where a control group limits it.
package func availableMemory() -> Int {
    availableMemory(systemInfo: text(at: "/proc/meminfo"), groups: controlGroups())
}

/// - Parameters:
///   - systemInfo: the contents of `/proc/meminfo`.
///   - groups: limit and use of each control group around the process, in bytes.
package func availableMemory(systemInfo: String?, groups: [(limit: Int, used: Int)]) -> Int {
    let system = systemInfo?.split(separator: "\n").first { $0.hasPrefix("MemAvailable:") }
        .flatMap { line in line.split(separator: " ").dropFirst().first.flatMap { Int($0) } }
        .map { $0.multipliedReportingOverflow(by: 1024).partialValue }
    let rooms = groups.map { max($0.limit - $0.used, 0) }
    return (rooms + [system].compactMap(\.self)).min() ?? 0
}

private func controlGroups() -> [(limit: Int, used: Int)] {
    var groups: [(limit: Int, used: Int)] = []
    for line in text(at: "/proc/self/cgroup")?.split(separator: "\n") ?? [] {
        let fields = line.split(separator: ":", maxSplits: 2, omittingEmptySubsequences: false)
        guard fields.count == 3 else { continue }
        let isUnified = fields[0] == "0"
        guard isUnified || fields[1].split(separator: ",").contains("memory") else { continue }
        let root = isUnified ? "/sys/fs/cgroup" : "/sys/fs/cgroup/memory"
        let (limitFile, usedFile) =
            isUnified ? ("memory.max", "memory.current") : ("memory.limit_in_bytes", "memory.usage_in_bytes")
        // A limit of any group above holds too. In a container the path may be the host's: its root is tried as well.
        var parts = fields[2].split(separator: "/").map(String.init).filter { $0 != ".." }
        while true {
            let directory = ([root] + parts).joined(separator: "/")
            if let limit = number(at: "\(directory)/\(limitFile)"), let used = number(at: "\(directory)/\(usedFile)") {
                // Cached files count as used but give way.
                let cached = text(at: "\(directory)/memory.stat").flatMap { inactiveFileBytes(in: $0, isUnified) } ?? 0
                groups.append((limit, max(used - cached, 0)))
            }
            if parts.popLast() == nil { break }
        }
    }
    return groups
}

private func inactiveFileBytes(in statistics: String, _ isUnified: Bool) -> Int? {
    let key = isUnified ? "inactive_file " : "total_inactive_file "
    return statistics.split(separator: "\n").first { $0.hasPrefix(key) }.flatMap { Int($0.dropFirst(key.count)) }
}

private func number(at path: String) -> Int? {
    text(at: path).flatMap { Int($0.trimmingCharacters(in: .whitespacesAndNewlines)) }
}

private func text(at path: String) -> String? { try? String(contentsOfFile: path, encoding: .utf8) }
