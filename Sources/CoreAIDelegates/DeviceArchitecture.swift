import Foundation

/// The architecture token of this machine: the level of its processor alone, so that asking needs no driver.
enum DeviceArchitecture {
    static let name: String = {
        #if arch(x86_64)
            "linux-x86_64-\(x86Level)"
        #elseif arch(arm64)
            "linux-aarch64"
        #else
            "linux-unknown"
        #endif
    }()

    #if arch(x86_64)
        /// The highest of the x86-64 micro-architecture levels v2, v3, v4 that the processor has, else v1.
        private static var x86Level: String {
            let text = (try? String(contentsOfFile: "/proc/cpuinfo", encoding: .utf8)) ?? ""
            let line = text.split(separator: "\n").first { $0.hasPrefix("flags") } ?? ""
            let flags = Set(line.split(separator: " ").map(String.init))
            let levels: [(String, Set<String>)] = [
                ("v4", ["avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl"]),
                ("v3", ["avx", "avx2", "bmi1", "bmi2", "f16c", "fma", "abm", "movbe", "xsave"]),
                ("v2", ["cx16", "lahf_lm", "popcnt", "pni", "sse4_1", "sse4_2", "ssse3"]),
            ]
            var met = "v1"
            for (level, needed) in levels.reversed() {
                guard needed.isSubset(of: flags) else { break }
                met = level
            }
            return met
        }
    #endif
}
