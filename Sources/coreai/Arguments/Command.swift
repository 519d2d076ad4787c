import CoreAIBackend

/// One command: the row that dispatch and help are made from.
struct Command: Sendable {
    let name: String
    let summary: String
    /// Paragraphs of help.
    let details: [String]
    let options: [Option]
    /// Takes one model or more; other commands take one.
    var takesSeveral = false
    let examples: [Example]
    let run: @Sendable (Arguments) async throws -> Void

    struct Example: Sendable {
        let line: String
        let meaning: String
    }

    static let operand = "MODEL"
    var operands: String { takesSeveral ? "\(Self.operand)..." : Self.operand }

    /// The options, and those that every command has.
    var allOptions: [Option] { options + [.help] }
}

extension Command {
    static let all = [run, bench, inspect, plan]

    static let run = Command(
        name: "run",
        summary: "run a function and show its outputs",
        details: [
            "Loads MODEL, an .aimodel directory, runs a function, and prints where it ran, what came out and how long it took.",
            """
            Inputs come from .npy files. An input without a file is filled from a seed: floats from -1 up to 1, integers \
            from 0 to 7; a size that is free is 1 unless --shape says otherwise. The result says what was filled. bfloat16 is \
            read and written as uint16 bits, 8-bit floats as uint8, narrower types as int8 or uint8.
            """,
            "Every run, repeated or not, starts from the same states.",
            """
            With --serve-stdio the model stays loaded. After its first run it prints one JSON line with load_ms, first_ms \
            and version, then answers one line for each line it reads, until the end of input:
              {"cmd":"run","slice_ms":400,"min_n":3,"max_n":200,"warmup":1}
                                 {"latencies_ms":[...],"cpu_ms":[...]}
              {"cmd":"stats"}    {"peak_rss_kib":...}
              {"cmd":"dump"}     {} once the outputs lie in --output-dir
              anything else      {"error":"..."}
            """,
        ],
        options: [
            .function, .input, .shape, .seed, .state, .outputDirectory, .units, .threads, .warmup, .repeats,
            .ignoreHash,
            .serve, .json,
        ],
        examples: [
            Example(line: "coreai run detector.aimodel", meaning: "try a model with made-up inputs"),
            Example(
                line: "coreai run detector.aimodel --input image=page.npy --output-dir out",
                meaning: "run it on a real image, keep the outputs"),
        ],
        run: runCommand)

    static let bench = Command(
        name: "bench",
        summary: "measure loading and running",
        details: [
            """
            Loads MODEL and runs a function again and again: how long each part of loading took, the first run, then \
            minimum, median and 90th percentile of the others, and the most memory the process held. GFLOP/s counts a \
            multiplication and an addition for each term of matrix products and convolutions, over the median.
            """,
            "Several models run one after another, each in a process of its own, with the same options.",
            """
            --compare runs CMD in turns with the model: in each of --rounds rounds first a part of the runs, then \
            `/bin/sh -c CMD` once, with COREAI_BENCH_MODEL and COREAI_BENCH_THREADS in its environment. The time of a \
            round is that of the whole process, its start included; if CMD prints a line `ms: NUMBER`, it is that number of \
            milliseconds instead. Ratios are taken round by round: the median run of the round over CMD.
            """,
        ],
        options: [
            .function, .input, .shape, .seed, .state, .units, .threads, .warmup, .benchRepeats, .seconds, .compare,
            .rounds, .profile, .ignoreHash, .json,
        ],
        takesSeveral: true,
        examples: [
            Example(line: "coreai bench encoder.aimodel --threads 1", meaning: "measure on one thread"),
            Example(
                line: "coreai bench encoder.aimodel --shape tokens=1x128 --repeat 100",
                meaning: "measure 100 runs at one size"),
            Example(
                line: "coreai bench detector.aimodel --threads 1 --compare 'python other.py'",
                meaning: "measure beside another program, in turns"),
        ],
        run: benchCommand)

    static let inspect = Command(
        name: "inspect",
        summary: "show what an asset holds, without loading it",
        details: [
            """
            Prints the functions of MODEL with their inputs, states and outputs, its metadata, how often each operation \
            occurs, the types its weights are stored in, and the sizes of its files. Neither takes the hash nor reads weights.
            """
        ],
        options: [.graph, .json],
        examples: [
            Example(line: "coreai inspect detector.aimodel", meaning: "see what goes in and comes out"),
            Example(line: "coreai inspect detector.aimodel --graph | less", meaning: "read the program"),
        ],
        run: inspectCommand)

    static let plan = Command(
        name: "plan",
        summary: "show where each operation of a function would run",
        details: [
            """
            Loads MODEL as `run` does and prints how a function is cut into segments, which backend takes each, and in \
            which order they run. Runs nothing.
            """
        ],
        options: [.function, .units, .ops, .kernels, .planGraph, .ignoreHash],
        examples: [
            Example(line: "coreai plan detector.aimodel", meaning: "read the plan"),
            Example(
                line: "coreai plan detector.aimodel --units gpu --ops",
                meaning: "see why an operation is not on the GPU"),
        ],
        run: planCommand)
}

/// What the environment may say: the row that help is made from.
struct EnvironmentVariable: Sendable {
    let name: String
    let help: String

    static let all = [
        EnvironmentVariable(
            name: "COREAI_CPU_FUSION", help: "0 computes every operation by itself, as the model has it"),
        EnvironmentVariable(
            name: "COREAI_CPU_LEVEL",
            help: "the highest level of SIMD kernels to use: \(ProcessorKernels.levels.joined(separator: ", "))"),
        EnvironmentVariable(name: "COREAI_IGNORE_HASH", help: "1 loads a program that does not match its main.hash"),
        EnvironmentVariable(
            name: "COREAI_NUM_THREADS", help: "processor threads (default: the processors this process may use)"),
    ]
}
