import Foundation
import Testing

/// The program `EnduranceWorker`, which lies beside the tests.
enum Worker {
    struct Line {
        let kibibytes: Int
        let wrong: Int
    }

    /// Memory that may come and go without being a leak, in KiB.
    static let slack = 4096

    static func model(_ name: String) -> String {
        Models.folder.appendingPathComponent(name).appendingPathComponent("model.aimodel").path
    }

    static func lines(_ arguments: String..., environment: [String: String] = [:]) throws -> [Line] {
        try run(arguments, mask: nil, environment).split(separator: "\n").map { line in
            let numbers = line.split(separator: " ").compactMap { Int($0) }
            try #require(numbers.count == 2, "\(line)")
            return Line(kibibytes: numbers[0], wrong: numbers[1])
        }
    }

    /// How many threads compute in a process of this affinity mask.
    static func threads(_ wanted: String? = nil, mask: String? = nil, environment: [String: String] = [:]) throws -> Int
    {
        let output = try run(["threads"] + (wanted.map { [$0] } ?? []), mask: mask, environment)
        return try #require(Int(output.trimmingCharacters(in: .whitespacesAndNewlines)))
    }

    /// The numbers of the processors this process may use.
    static func processors() -> [Int] {
        let status = (try? String(contentsOfFile: "/proc/self/status", encoding: .utf8)) ?? ""
        let list = status.split(separator: "\n").first { $0.hasPrefix("Cpus_allowed_list:") }?.dropFirst(18) ?? ""
        return list.split(separator: ",").flatMap { range -> [Int] in
            let ends = range.split(separator: "-").compactMap { Int($0.trimmingCharacters(in: .whitespaces)) }
            guard let first = ends.first, let last = ends.last, first <= last else { return [] }
            return Array(first...last)
        }
    }

    private static func run(_ arguments: [String], mask: String?, _ environment: [String: String]) throws -> String {
        let tests = try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
        let worker = URL(fileURLWithPath: tests).deletingLastPathComponent().appendingPathComponent("EnduranceWorker")
        let process = Process()
        process.executableURL = mask == nil ? worker : URL(fileURLWithPath: "/usr/bin/taskset")
        process.arguments = (mask.map { ["-c", $0, worker.path] } ?? []) + arguments
        process.environment = ProcessInfo.processInfo.environment.filter { !$0.key.hasPrefix("COREAI_") }
            .merging(environment) { $1 }
        let output = Pipe()
        process.standardOutput = output
        try process.run()
        let text = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        process.waitUntilExit()
        try #require(process.terminationReason == .exit && process.terminationStatus == 0, "\(arguments)")
        return text
    }
}
