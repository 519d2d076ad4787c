import CoreAI
import CoreAIBackend
import Foundation

func dispatch(_ words: ArraySlice<String>) async throws {
    guard let first = words.first else { throw UsageError("a command is missing (see 'coreai --help')") }
    let rest = words.dropFirst()
    func command(_ name: String) throws -> Command {
        if let command = Command.all.first(where: { $0.name == name }) { return command }
        let kind = name.hasPrefix("-") ? "option" : "command"
        let known = kind == "option" ? ["--help", "--version"] : Command.all.map(\.name) + ["help"]
        throw UsageError("unknown \(kind) '\(name)'\(didYouMean(name, among: known)) (see 'coreai --help')")
    }
    switch first {
    case "--version":
        let kernels = ProcessorKernels.levels.joined(separator: ", ")
        print("coreai \(toolVersion) (\(AIModel.deviceArchitectureName); kernels \(kernels))")
    case "help" where !rest.isEmpty: print(Help.text(try command(words[words.startIndex + 1])), terminator: "")
    case "help", "--help", "-h": print(Help.overview, terminator: "")
    default:
        let command = try command(first)
        guard !rest.prefix(while: { $0 != "--" }).contains(where: { $0 == "--help" || $0 == "-h" }) else {
            print(Help.text(command), terminator: "")
            return
        }
        try await command.run(try Arguments(rest, for: command))
    }
}

/// Ends the process with one line on standard error.
func fail(_ message: String, status: Int32) -> Never {
    fflush(nil)
    FileHandle.standardError.write(Data("coreai: \(message.printable)\n".utf8))
    exit(status)
}

do {
    try await dispatch(CommandLine.arguments.dropFirst())
} catch {
    fail(describe(error), status: error is UsageError ? EX_USAGE : 1)
}
