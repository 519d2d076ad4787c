/// One option of a command: the row that parsing, checking and `--help` are made from.
struct Option: Sendable {
    enum Value: Sendable {
        /// Present or not.
        case flag
        case text
        /// A whole number of at least the given one.
        case count(atLeast: Int)
        case choice([String])
        /// `NAME=…`; may be given several times, once for a name.
        case named
    }

    let name: String
    let value: Value
    /// What stands for the value in help, `N`; nil for a flag.
    let placeholder: String?
    let help: String

    init(_ name: String, _ value: Value = .flag, _ placeholder: String? = nil, _ help: String) {
        (self.name, self.value, self.placeholder, self.help) = (name, value, placeholder, help)
    }

    /// `--threads N`
    var spelling: String { placeholder.map { "\(name) \($0)" } ?? name }
}

extension Option {
    static let function = Option("--function", .text, "NAME", "the function to use (default: main)")
    static let input = Option("--input", .named, "NAME=FILE.npy", "an input; those left out are filled from the seed")
    static let state = Option("--state", .named, "NAME=FILE.npy", "where a state starts; those left out start as zeros")
    static let shape = Option("--shape", .named, "NAME=1x3x320x320", "the sizes of an input that is filled or a state")
    static let seed = Option("--seed", .count(atLeast: 0), "N", "what filled inputs are drawn from (default: 0)")
    static let outputDirectory = Option(
        "--output-dir", .text, "DIR", "write outputs as DIR/NAME.npy and states as DIR/state_NAME.npy")
    static let units = Option(
        "--units", .choice(["cpu", "gpu", "neural-engine", "auto"]), "UNIT",
        "cpu alone; gpu or neural-engine first, then others; or auto (default)")
    static let threads = Option("--threads", .count(atLeast: 1), "N", "processor threads; wins over COREAI_NUM_THREADS")
    static let warmup = Option("--warmup", .count(atLeast: 0), "N", "runs before the timed ones (default: 0)")
    static let repeats = Option("--repeat", .count(atLeast: 1), "N", "timed runs (default: 1)")
    static let benchRepeats = Option(
        "--repeat", .count(atLeast: 1), "N", "timed runs (default: as many as fit a second)")
    static let seconds = Option(
        "--seconds", .count(atLeast: 1), "N", "run for so long instead, at least 3 times and once a round")
    static let compare = Option("--compare", .text, "CMD", "a shell command to time in turns with the model")
    static let rounds = Option("--rounds", .count(atLeast: 1), "N", "turns of --compare (default: 5)")
    static let ignoreHash = Option("--ignore-hash", .flag, nil, "load a program that does not match its main.hash")
    static let serve = Option(
        "--serve-stdio", .flag, nil, "stay loaded and answer JSON lines on standard input, as above")
    static let json = Option("--json", .flag, nil, "print one JSON object instead of text")
    static let graph = Option("--graph", .flag, nil, "print every graph; constants over 64 bytes as their size")
    static let planGraph = Option(
        "--graph", .flag, nil, "print the graph that was planned; constants over 64 bytes as their size")
    static let kernels = Option(
        "--kernels", .flag, nil, "list what the processor's backends call for each segment, fused and in order")
    static let profile = Option(
        "--profile", .flag, nil, "measure ten more runs kernel by kernel and list what took how long")
    static let ops = Option(
        "--ops", .flag, nil, "list each operation with its backend, the reason, and its source line")
    static let help = Option("--help", .flag, nil, "print this help")
    static let version = Option("--version", .flag, nil, "print the version")
}
