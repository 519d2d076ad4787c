import Foundation
import Testing

/// The built `coreai`, run as its users run it.
enum Tool {
    struct Result {
        let status: Int32
        let output: String
        let errors: String
    }

    /// It lies beside the tests' own program.
    static func url() throws -> URL {
        let own = try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
        let beside = URL(fileURLWithPath: own).deletingLastPathComponent()
        let builds = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent().appendingPathComponent(".build")
        let places = [beside, builds.appendingPathComponent("release"), builds.appendingPathComponent("debug")]
        return try #require(
            places.map { $0.appendingPathComponent("coreai") }
                .first { FileManager.default.isExecutableFile(atPath: $0.path) },
            "no coreai beside \(own); build it with swift build")
    }

    static func process(_ arguments: [String]) throws -> Process {
        let process = Process()
        process.executableURL = try url()
        process.arguments = arguments
        process.environment = ProcessInfo.processInfo.environment.filter { !$0.key.hasPrefix("COREAI_") }
        return process
    }

    static func run(_ arguments: String...) throws -> Result { try run(arguments) }

    /// - Parameter environment: variables beside those of the tests.
    static func run(_ arguments: [String], environment: [String: String] = [:]) throws -> Result {
        let process = try process(arguments)
        process.environment = (process.environment ?? [:]).merging(environment) { $1 }
        let (output, errors) = (Pipe(), Pipe())
        process.standardOutput = output
        process.standardError = errors
        process.standardInput = FileHandle.nullDevice
        try process.run()
        let text = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        let errorText = String(decoding: errors.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        process.waitUntilExit()
        return Result(status: process.terminationStatus, output: text, errors: errorText)
    }
}

let fixtures = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
    .appendingPathComponent("Fixtures")
let unary = fixtures.appendingPathComponent("ops/unary_f32")
let unaryModel = unary.appendingPathComponent("model.aimodel").path
let unaryInput = "x=" + unary.appendingPathComponent("inputs/x.npy").path

/// A directory that is removed afterwards.
func withDirectory(_ body: (URL) throws -> Void) throws {
    let url = FileManager.default.temporaryDirectory.appendingPathComponent("coreai-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: url) }
    try body(url)
}

func object(_ text: String) throws -> [String: Any] {
    try #require(try JSONSerialization.jsonObject(with: Data(text.utf8)) as? [String: Any])
}
