import Foundation

/// Each model in a process of its own, so that none finds memory, threads or caches that another left.
func benchSeveral(_ arguments: Arguments) async throws {
    _ = try BenchLimits(arguments)
    var reports: [BenchReport] = []
    var failures: [String] = []
    for model in arguments.models {
        let child = Process()
        child.executableURL = URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath()
        child.arguments =
            ["bench"] + arguments.optionWords + (arguments.flag(.json) ? [] : [Option.json.name]) + ["--", model]
        let result = try await showingProgress("measuring \(model)") { try child.runToEnd() }
        if result.status == 0, let report = try? JSONDecoder().decode(BenchReport.self, from: result.output) {
            reports.append(report)
        } else {
            let line = result.lastErrorLine
            let message = line.hasPrefix("coreai: ") ? String(line.dropFirst(8)) : line
            failures.append(message.contains(model) ? message : "\(model): \(message)")
        }
    }
    if arguments.flag(.json) {
        print(try jsonText(reports))
    } else if !reports.isEmpty {
        print(BenchReport.table(reports), terminator: "")
    }
    guard failures.isEmpty else {
        let count = "\(failures.count) of \(arguments.models.count) models could not be measured"
        throw Failure("\(count): \(failures.joined(separator: "; "))")
    }
}
