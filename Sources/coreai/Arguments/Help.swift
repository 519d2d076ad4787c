import CoreAI

/// The version of this tool, which is that of the package.
let toolVersion = "0.1.0"

enum Help {
    private static let width = 100

    static var overview: String {
        var text = """
            coreai: run, measure and look into Core AI models

            Usage
              coreai COMMAND MODEL [OPTIONS]
              coreai help COMMAND

            Commands

            """
        text += rows(Command.all.map { ($0.name, $0.summary) })
        text += "\nOptions\n" + rows([Option.help, .version].map { ($0.spelling, $0.help) })
        text += "\nExamples\n" + examples(Command.all.prefix(2).compactMap(\.examples.first))
        return text + environment
    }

    static func text(_ command: Command) -> String {
        var text = """
            coreai \(command.name): \(command.summary)

            Usage
              coreai \(command.name) \(command.operands) [OPTIONS]


            """
        text += command.details.map { paragraph($0) + "\n" }.joined()
        text +=
            "Options\n"
            + rows(command.allOptions.map { ($0.spelling, $0.help + ($0.isRepeatable ? "; repeatable" : "")) })
        text += "\nExamples\n" + examples(command.examples)
        return text + environment
    }

    private static var environment: String {
        "\nEnvironment\n" + rows(EnvironmentVariable.all.map { ($0.name, $0.help) })
    }

    private static func examples(_ examples: [Command.Example]) -> String {
        examples.map { "  \($0.line)\n      \($0.meaning)\n" }.joined()
    }

    /// Two columns; what does not fit the second goes on below it.
    private static func rows(_ rows: [(String, String)]) -> String {
        let column = (rows.map(\.0.count).max() ?? 0) + 2
        return rows.map { name, help in
            let lines = wrapped(help, width - column - 2)
            let first = "  " + name + String(repeating: " ", count: column - name.count) + (lines.first ?? "")
            let others = lines.dropFirst().map { String(repeating: " ", count: column + 2) + $0 }
            return ([first] + others).joined(separator: "\n") + "\n"
        }.joined()
    }

    /// Lines that begin with spaces stay as they are.
    private static func paragraph(_ text: String) -> String {
        text.split(separator: "\n").flatMap { line in
            line.hasPrefix(" ") ? [String(line)] : wrapped(String(line), width)
        }.map { $0 + "\n" }.joined()
    }

    private static func wrapped(_ text: String, _ width: Int) -> [String] {
        var lines: [String] = []
        var line = ""
        for word in text.split(separator: " ") {
            if !line.isEmpty, line.count + 1 + word.count > width {
                lines.append(line)
                line = ""
            }
            line += (line.isEmpty ? "" : " ") + word
        }
        return lines + [line]
    }
}

extension Option {
    fileprivate var isRepeatable: Bool { if case .named = value { true } else { false } }
}
