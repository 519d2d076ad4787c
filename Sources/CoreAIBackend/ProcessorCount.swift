import CKernels
import Foundation

/// How many threads of this process can compute at once.
package enum ProcessorCount {
    /// `COREAI_NUM_THREADS`, else the processors of the affinity mask, fewer if a control group allows less time.
    package static func current() -> Int {
        threads(
            affinity: Int(coreai_allowed_processors()), quota: quota(),
            environment: ProcessInfo.processInfo.environment["COREAI_NUM_THREADS"])
    }

    /// - Parameters:
    ///   - affinity: processors this process may run on.
    ///   - quota: processors' worth of time it may use, if that is limited.
    ///   - environment: the user's word, which wins if it is a positive number.
    package static func threads(affinity: Int, quota: Double?, environment: String?) -> Int {
        if let environment, let wanted = Int(environment.trimmingCharacters(in: .whitespacesAndNewlines)), wanted > 0 {
            return min(wanted, WorkerPool.widthLimit)
        }
        var count = max(1, affinity)
        // Part of a processor is one more thread, which then waits at times.
        if let quota, quota < Double(count) { count = max(1, Int(quota.rounded(.up))) }
        return min(count, WorkerPool.widthLimit)
    }

    /// The smallest quota among this process's control group and the groups around it, in processors; nil if none is
    /// limited.
    /// - Parameters:
    ///   - root: where the groups are mounted.
    ///   - groups: the text of `/proc/self/cgroup`.
    package static func quota(
        root: String = "/sys/fs/cgroup", groups: String? = try? String(contentsOfFile: "/proc/self/cgroup", encoding: .utf8)
    ) -> Double? {
        var smallest: Double?
        for line in (groups ?? "").split(separator: "\n") {
            // `0::/path` (version 2) or `4:cpu,cpuacct:/path` (version 1)
            let fields = line.split(separator: ":", maxSplits: 2, omittingEmptySubsequences: false)
            guard fields.count == 3 else { continue }
            let controllers = fields[1].split(separator: ",")
            let isUnified = controllers.isEmpty
            guard isUnified || controllers.contains("cpu") else { continue }
            let mounts = isUnified ? [root, root + "/unified"] : [root + "/" + fields[1], root + "/cpu"]
            for mount in mounts {
                for group in enclosing(fields[2]) {
                    guard let limit = isUnified ? unifiedLimit(mount + group) : legacyLimit(mount + group) else { continue }
                    smallest = min(smallest ?? limit, limit)
                }
            }
        }
        return smallest
    }

    /// `/a/b`, `/a`, and the root as an empty path. In a container the outer groups may be out of sight.
    private static func enclosing(_ path: Substring) -> [String] {
        var names = path.split(separator: "/")
        var groups: [String] = []
        while !names.isEmpty {
            groups.append("/" + names.joined(separator: "/"))
            names.removeLast()
        }
        return groups + [""]
    }

    /// `cpu.max` holds `200000 100000` or `max 100000`: microseconds of time in a period.
    private static func unifiedLimit(_ folder: String) -> Double? {
        guard let text = try? String(contentsOfFile: folder + "/cpu.max", encoding: .utf8) else { return nil }
        let numbers = text.split(whereSeparator: \.isWhitespace).map { Double($0) }
        guard numbers.count == 2, let time = numbers[0], let period = numbers[1] else { return nil }
        return limit(time, period)
    }

    private static func legacyLimit(_ folder: String) -> Double? {
        func number(_ name: String) -> Double? {
            let text = try? String(contentsOfFile: folder + "/" + name, encoding: .utf8)
            return text.flatMap { Double($0.trimmingCharacters(in: .whitespacesAndNewlines)) }
        }
        guard let time = number("cpu.cfs_quota_us"), let period = number("cpu.cfs_period_us") else { return nil }
        return limit(time, period)
    }

    /// Version 1 writes -1 for no limit.
    private static func limit(_ time: Double, _ period: Double) -> Double? {
        time > 0 && period > 0 ? time / period : nil
    }
}
