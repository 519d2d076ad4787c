import CoreAIBackend
import Foundation
import Testing

/// How many threads compute by default.
@Suite struct ProcessorCountTests {
    @Test func theAffinityMaskCounts() {
        #expect(ProcessorCount.threads(affinity: 2, quota: nil, environment: nil) == 2)
        #expect(ProcessorCount.threads(affinity: 0, quota: nil, environment: nil) == 1)
    }

    @Test(arguments: [(2.0, 2), (1.5, 2), (0.25, 1), (64, 8), (.infinity, 8)])
    func aQuotaLowersTheCount(quota: Double, threads: Int) {
        #expect(ProcessorCount.threads(affinity: 8, quota: quota, environment: nil) == threads)
    }

    @Test func theVariableWinsIfItIsAPositiveNumber() {
        #expect(ProcessorCount.threads(affinity: 8, quota: 2, environment: "3") == 3)
        #expect(ProcessorCount.threads(affinity: 2, quota: nil, environment: " 5\n") == 5)
        for text in ["", "0", "-1", "many", "1.5"] {
            #expect(ProcessorCount.threads(affinity: 8, quota: 2, environment: text) == 2, "'\(text)'")
        }
        let most = ProcessorCount.threads(affinity: 8, quota: nil, environment: "\(Int.max)")
        #expect(most == WorkerPool.widthLimit)
    }

    /// Files as the system shows them: the smallest quota on the way to the root counts.
    @Test(
        arguments: [
            ("0::/\n", ["cpu.max": "200000 100000\n"], 2.0),
            ("0::/\n", ["cpu.max": "max 100000\n"], nil),
            ("0::/\n", [:], nil),
            (
                "0::/a/b\n", ["cpu.max": "max 100000", "a/cpu.max": "150000 100000", "a/b/cpu.max": "300000 100000"],
                1.5
            ),
            ("0::/a/b\n", ["a/b/cpu.max": "50000 100000"], 0.5),
            // A container that sees its own group at the root, and the path of the machine.
            ("0::/docker/123\n", ["cpu.max": "400000 100000"], 4),
            ("0::/../other\n", ["cpu.max": "400000 100000"], 4),
            (
                "3:memory:/m\n2:cpu,cpuacct:/a\n1:cpuset:/\n",
                ["cpu,cpuacct/a/cpu.cfs_quota_us": "250000\n", "cpu,cpuacct/a/cpu.cfs_period_us": "100000\n"], 2.5
            ),
            ("1:cpu:/\n0::/\n", ["cpu/cpu.cfs_quota_us": "-1\n", "cpu/cpu.cfs_period_us": "100000\n"], nil),
            (
                "2:cpuacct:/a\n1:cpu:/a\n",
                [
                    "cpu/a/cpu.cfs_quota_us": "-1", "cpu/a/cpu.cfs_period_us": "100000",
                    "cpu/cpu.cfs_quota_us": "100000",
                    "cpu/cpu.cfs_period_us": "50000",
                ], 2
            ),
            ("1:cpu:/\n0::/\n", ["unified/cpu.max": "100000 100000"], 1),
            ("nonsense\n0:/\n::\n", ["cpu.max": "0 0"], nil),
            ("0::/\n", ["cpu.max": "200000"], nil),
        ] as [(String, [String: String], Double?)])
    func quotasOfControlGroups(groups: String, files: [String: String], quota: Double?) throws {
        let root = FileManager.default.temporaryDirectory.appendingPathComponent("coreai-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: root) }
        try FileManager.default.createDirectory(at: root, withIntermediateDirectories: true)
        for (path, text) in files {
            let file = root.appendingPathComponent(path)
            try FileManager.default.createDirectory(
                at: file.deletingLastPathComponent(), withIntermediateDirectories: true)
            try Data(text.utf8).write(to: file)
        }
        #expect(ProcessorCount.quota(root: root.path, groups: groups) == quota)
    }
}
