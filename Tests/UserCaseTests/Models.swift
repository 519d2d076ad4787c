import CoreAI
import Foundation

/// The models of the user cases. `author.py` beside them says what they compute.
enum Models {
    static let folder = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
        .deletingLastPathComponent()
        .appendingPathComponent("Fixtures")

    static func url(_ name: String) -> URL {
        folder.appendingPathComponent("usercases").appendingPathComponent(name + ".aimodel")
    }

    /// Every way to ask for units. Whatever is asked for, the answer must be the same.
    static let everyUnit: [(name: String, options: SpecializationOptions)] = [
        ("default", .default), ("cpuOnly", .cpuOnly),
        ("gpu", SpecializationOptions(preferredComputeUnitKind: .gpu)),
        ("neuralEngine", SpecializationOptions(preferredComputeUnitKind: .neuralEngine)),
    ]

    /// The `main` of a model on every unit.
    static func mains(_ name: String) async throws -> [(unit: String, function: InferenceFunction)] {
        var functions: [(String, InferenceFunction)] = []
        for (unit, options) in everyUnit {
            let model = try await AIModel(contentsOf: url(name), options: options)
            guard let function = try model.loadFunction(named: "main") else {
                throw MissingFunction(name: name)
            }
            functions.append((unit, function))
        }
        return functions
    }

    struct MissingFunction: Error { var name: String }

    /// A copy of an asset that a test may damage, removed with its folder by the caller.
    static func scratchCopy(of name: String) throws -> URL {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent(
            "coreai-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        let copy = folder.appendingPathComponent(name + ".aimodel")
        try FileManager.default.copyItem(at: url(name), to: copy)
        return copy
    }
}

extension InferenceFunction.Outputs {
    struct MissingOutput: Error { var name: String }

    mutating func array(_ name: String) throws -> NDArray {
        guard let array = remove(name)?.ndArray else { throw MissingOutput(name: name) }
        return array
    }

    /// The elements of an output in row-major order; nil if there is none of this name.
    mutating func elements<T: BitwiseCopyable>(_ name: String, _ type: T.Type) -> [T]? {
        (try? array(name))?.elements(type)
    }
}

extension NDArray {
    /// The elements in row-major order.
    func elements<T: BitwiseCopyable>(_: T.Type = T.self) -> [T] {
        let view = view(as: T.self)
        guard let span = view.contiguousElements else { return [] }
        return span.indices.map { span[$0] }
    }
}
