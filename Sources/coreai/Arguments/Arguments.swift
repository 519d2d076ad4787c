/// What a command was called with, checked against its options.
struct Arguments: Sendable {
    /// One, or for a command that takes several, at least one.
    private(set) var models: [String] = []
    /// The options as words, without the models.
    private(set) var optionWords: [String] = []
    private var values: [String: [String]] = [:]

    /// - Throws: `UsageError` for the first word that does not fit.
    init(_ words: some Sequence<String>, for command: Command) throws(UsageError) {
        var rest = Array(words)[...]
        var isOptionsEnded = false
        while let word = rest.popFirst() {
            if word == "--", !isOptionsEnded {
                isOptionsEnded = true
            } else if isOptionsEnded || word == "-" || !word.hasPrefix("-") {
                guard models.isEmpty || command.takesSeveral else {
                    throw command.misuse("one \(Command.operand) is expected, found '\(word)' as well")
                }
                guard !word.isEmpty else {
                    throw command.misuse("\(Command.operand) is empty: the path of an .aimodel directory is expected")
                }
                models.append(word)
            } else {
                let parts = word.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
                guard let option = command.allOptions.first(where: { $0.name == parts[0] }) else {
                    throw command.misuse(
                        "unknown option '\(parts[0])'" + didYouMean(parts[0], among: command.allOptions.map(\.name)))
                }
                var value = parts.count > 1 ? parts[1] : nil
                if option.placeholder != nil, value == nil { value = rest.popFirst() }
                try take(value, for: option, command)
                optionWords.append(value.map { "\(option.name)=\($0)" } ?? option.name)
            }
        }
        guard !models.isEmpty else {
            throw command.misuse("\(Command.operand) is missing: the path of an .aimodel directory")
        }
    }

    private mutating func take(_ value: String?, for option: Option, _ command: Command) throws(UsageError) {
        func wrong(_ expected: String) -> UsageError {
            command.misuse("\(option.name) expects \(expected)" + (value.map { ", found '\($0)'" } ?? ""))
        }
        let isGiven = values[option.name] != nil
        switch option.value {
        case .flag:
            guard value == nil else { throw wrong("no value") }
            values[option.name] = []
            return
        case .text:
            guard let value, !value.isEmpty else { throw wrong(option.placeholder ?? "a value") }
        case .count(let least):
            guard let value, let number = Int(value), number >= least else {
                throw wrong("a whole number of at least \(least)")
            }
        case .choice(let choices):
            guard let value, choices.contains(value) else {
                throw wrong("one of " + choices.joined(separator: ", "))
            }
        case .named:
            guard let value, let pair = value.named else { throw wrong(option.placeholder ?? "NAME=VALUE") }
            guard !named(option).contains(where: { $0.name == pair.name }) else {
                throw command.misuse("\(option.name) is given twice for '\(pair.name)'")
            }
            values[option.name, default: []].append(value)
            return
        }
        guard !isGiven else { throw command.misuse("\(option.name) is given twice") }
        values[option.name] = value.map { [$0] }
    }

    /// The first.
    var model: String { models.first ?? "" }

    func flag(_ option: Option) -> Bool { values[option.name] != nil }
    func text(_ option: Option) -> String? { values[option.name]?.first }
    func count(_ option: Option) -> Int? { text(option).flatMap { Int($0) } }

    /// In the order they were given.
    func named(_ option: Option) -> [(name: String, value: String)] { (values[option.name] ?? []).compactMap(\.named) }
}

extension Command {
    func misuse(_ message: String) -> UsageError { UsageError("\(message) (see 'coreai \(name) --help')") }
}

extension String {
    /// `NAME=VALUE`, neither of them empty.
    fileprivate var named: (name: String, value: String)? {
        guard let place = firstIndex(of: "="), place != startIndex, index(after: place) != endIndex else { return nil }
        return (String(self[..<place]), String(self[index(after: place)...]))
    }
}

/// `; did you mean '--units'?` if a candidate is close to `word`, else nothing.
func didYouMean(_ word: String, among candidates: [String]) -> String {
    let near = candidates.map { (name: $0, distance: word.editDistance(to: $0)) }.min { $0.distance < $1.distance }
    guard let near, near.distance <= max(1, word.count / 3) else { return "" }
    return "; did you mean '\(near.name)'?"
}
