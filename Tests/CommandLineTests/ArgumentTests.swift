import Foundation
import Testing

@Suite struct ArgumentTests {
    @Test func helpHasThreeWaysIn() throws {
        let overview = try Tool.run("--help")
        #expect(overview.status == 0 && overview.errors.isEmpty)
        #expect(try Tool.run("help").output == overview.output)
        for command in ["run", "bench", "inspect", "plan"] {
            #expect(overview.output.contains("\n  \(command) "))
            let help = try Tool.run("help", command)
            #expect(help.status == 0 && help.errors.isEmpty)
            #expect(try Tool.run(command, "--help").output == help.output)
            for part in [
                "Usage", "Options", "Examples", "Environment", "COREAI_IGNORE_HASH", "COREAI_NUM_THREADS",
            ] {
                #expect(help.output.contains(part), "help \(command)")
            }
            #expect(help.output.split(separator: "\n").allSatisfy { $0.count <= 100 && $0.last != " " })
        }
    }

    @Test func versionIsOneLine() throws {
        let version = try Tool.run("--version")
        #expect(
            version.status == 0 && version.output.hasPrefix("coreai ")
                && version.output.split(separator: "\n").count == 1)
    }

    @Test(arguments: [
        ([], "command is missing"),
        (["rnu"], "did you mean 'run'?"),
        (["--verison"], "did you mean '--version'?"),
        (["help", "inspetc"], "did you mean 'inspect'?"),
        (["run"], "MODEL is missing"),
        (["run", "a", "b"], "found 'b' as well"),
        (["run", "a", "--untis", "cpu"], "did you mean '--units'?"),
        (["run", "a", "--units", "tpu"], "expects one of cpu, gpu, neural-engine, auto, found 'tpu'"),
        (["run", "a", "--units"], "expects one of"),
        (["run", "a", "--threads", "0"], "expects a whole number of at least 1, found '0'"),
        (["run", "a", "--repeat", "x"], "expects a whole number"),
        (["run", "a", "--json=yes"], "--json expects no value"),
        (["run", "a", "--input", "x"], "expects NAME=FILE.npy, found 'x'"),
        (["run", "a", "--input", "x=1.npy", "--input", "x=2.npy"], "given twice for 'x'"),
        (["run", "a", "--seed", "1", "--seed", "2"], "--seed is given twice"),
        (["bench", "a", "--serve-stdio"], "unknown option '--serve-stdio'"),
        (["bench"], "MODEL is missing"),
        (["bench", "a", ""], "MODEL is empty"),
        (["bench", "a", "--repeat", "0"], "expects a whole number of at least 1, found '0'"),
        (["bench", "a", "--seconds", "0"], "expects a whole number of at least 1, found '0'"),
        (["bench", "a", "--repeat", "5", "--seconds", "1"], "--repeat and --seconds exclude each other"),
        (["bench", "a", "--rounds", "5"], "--compare, which is missing"),
        (["bench", "a", "b", "--compare", "true", "--repeat", "4"], "--repeat 4 is fewer than the 5 rounds"),
    ])
    func wrongArgumentsAreOneLineAndStatus64(_ words: [String], _ hint: String) throws {
        let result = try Tool.run(words)
        #expect(result.status == 64 && result.output.isEmpty)
        #expect(result.errors.hasPrefix("coreai: ") && result.errors.contains(hint), "\(result.errors)")
        #expect(result.errors.filter { $0 == "\n" }.count == 1)
    }

    @Test func valuesMayFollowAnEqualsSign() throws {
        let apart = try Tool.run("run", unaryModel, "--seed", "3", "--json")
        let joined = try Tool.run("run", "--json", "--seed=3", "--", unaryModel)
        #expect(apart.status == 0 && joined.status == 0)
    }
}
