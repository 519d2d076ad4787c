import Foundation

/// This process's memory, from /proc.
enum Memory {
    static var resident: Int { field("VmRSS") }
    static var peak: Int { field("VmHWM") }
    static func resetPeak() { try? "5".write(toFile: "/proc/self/clear_refs", atomically: false, encoding: .utf8) }

    private static func field(_ name: String) -> Int {
        let text = (try? String(contentsOfFile: "/proc/self/status", encoding: .utf8)) ?? ""
        let line = text.split(separator: "\n").first { $0.hasPrefix(name) } ?? ""
        return (line.split(whereSeparator: \.isWhitespace).dropFirst().first.flatMap { Int($0) } ?? 0) << 10
    }
}
