// swift-tools-version: 6.2
import PackageDescription

/// Non-escapable views in the public API need these; clients need none of them.
let lifetimes: [SwiftSetting] = [
    .enableExperimentalFeature("Lifetimes"),
    .enableExperimentalFeature("LifetimeDependence"),
    .enableExperimentalFeature("InoutLifetimeDependence"),
    .enableExperimentalFeature("AddressableParameters"),
    .enableExperimentalFeature("AddressableTypes"),
]

let strict: [SwiftSetting] = [
    .enableUpcomingFeature("InternalImportsByDefault")
]

let package = Package(
    name: "OpenCoreAI",
    products: [
        .library(name: "CoreAI", targets: ["CoreAI"]),
        .library(name: "CoreAITestSupport", targets: ["CoreAITestSupport"]),
        .executable(name: "coreai", targets: ["coreai"]),
        .executable(name: "ReadingText", targets: ["ReadingText"]),
    ],
    targets: [
        // The rooms, from the bottom up. Docs/Architecture.md says what belongs in each.
        .target(name: "CoreAIGraph", swiftSettings: strict),
        .target(name: "CoreAIOps", dependencies: ["CoreAIGraph", "CKernels"], swiftSettings: strict),
        .target(name: "CoreAIAsset", dependencies: ["CoreAIGraph", "CSHA256"], swiftSettings: strict),
        .target(name: "CoreAIBackend", dependencies: ["CoreAIGraph", "CoreAIOps", "CKernels"], swiftSettings: strict),
        .target(
            name: "CoreAIPlanner", dependencies: ["CoreAIGraph", "CoreAIOps", "CoreAIBackend"], swiftSettings: strict),
        .target(
            name: "CoreAIRuntime", dependencies: ["CoreAIGraph", "CoreAIOps", "CoreAIBackend"],
            swiftSettings: strict + lifetimes),
        .target(
            name: "CoreAIDelegates", dependencies: ["CoreAIAsset", "CoreAIPlanner", "CoreAIRuntime"],
            swiftSettings: strict + lifetimes),
        .target(
            name: "CoreAI",
            dependencies: ["CoreAIDelegates", "CoreAIAsset", "CoreAIRuntime", "ReferenceBackend", "OpenBLASBackend"],
            swiftSettings: strict + lifetimes),

        // Backends.
        .target(
            name: "ReferenceBackend", dependencies: ["CoreAIBackend", "CoreAIOps"], path: "Backends/Reference",
            swiftSettings: strict),
        .target(
            name: "OpenBLASBackend", dependencies: ["CoreAIBackend", "CoreAIOps", "COpenBLAS", "CKernels"],
            path: "Backends/OpenBLAS", swiftSettings: strict),

        // C.
        .target(name: "CKernels"),

        // System libraries.
        .systemLibrary(
            name: "COpenBLAS", path: "Sources/COpenBLAS", pkgConfig: "openblas", providers: [.apt(["libopenblas-dev"])]),
        .systemLibrary(
            name: "CSHA256", path: "Sources/CSHA256", pkgConfig: "libcrypto", providers: [.apt(["libssl-dev"])]),

        // Stand-ins for Apple's modules that Core AI's signatures name.
        .target(name: "os", dependencies: ["CoreAIBackend"], path: "Sources/Shims/os"),
        .target(name: "Metal", dependencies: ["CoreAIRuntime"], path: "Sources/Shims/Metal"),
        .target(name: "CoreVideo", dependencies: ["CoreAIRuntime"], path: "Sources/Shims/CoreVideo"),
        .target(name: "IOSurface", dependencies: ["CoreAIRuntime"], path: "Sources/Shims/IOSurface"),
        .target(name: "CoreGraphics", dependencies: ["CoreAIRuntime"], path: "Sources/Shims/CoreGraphics"),

        // Programs.
        .target(name: "NumpyFiles", dependencies: ["CoreAIGraph"], swiftSettings: strict),
        .executableTarget(
            name: "coreai",
            dependencies: [
                "CoreAI", "CoreAIAsset", "CoreAIBackend", "CoreAIDelegates", "CoreAIGraph", "CoreAIOps",
                "CoreAIRuntime",
                "NumpyFiles",
            ], swiftSettings: strict),
        .executableTarget(
            name: "ReadingText", dependencies: ["CoreAI"], path: "Examples/ReadingText", swiftSettings: strict),

        // Tests.
        .target(
            name: "CoreAITestSupport", dependencies: ["CoreAI", "CoreAIDelegates", "CoreAIPlanner", "NumpyFiles"],
            path: "Tests/Support", swiftSettings: strict),
        .testTarget(name: "CoreAIGraphTests", dependencies: ["CoreAIGraph"]),
        .testTarget(name: "NumpyFilesTests", dependencies: ["CoreAIGraph", "NumpyFiles"]),
        .testTarget(name: "CKernelsTests", dependencies: ["CKernels"]),
        .testTarget(name: "CoreAIOpsTests", dependencies: ["CoreAIOps"]),
        .testTarget(name: "CoreAIAssetTests", dependencies: ["CoreAIAsset", "CoreAITestSupport"]),
        .testTarget(
            name: "CoreAIPlannerTests",
            dependencies: [
                "CoreAIPlanner", "CoreAIAsset", "CoreAIBackend", "ReferenceBackend", "OpenBLASBackend",
                "CoreAITestSupport",
            ]),
        .testTarget(
            name: "CoreAIRuntimeTests",
            dependencies: ["CoreAI", "CoreAITestSupport", "os", "Metal", "CoreVideo", "IOSurface", "CoreGraphics"],
            swiftSettings: lifetimes),
        .testTarget(
            name: "ConformanceTests", dependencies: ["CoreAITestSupport", "ReferenceBackend", "OpenBLASBackend"]),
        .testTarget(name: "FixtureTests", dependencies: ["CoreAITestSupport", "NumpyFiles", "ReferenceBackend"]),
        .executableTarget(
            name: "AssetFuzzWorker", dependencies: ["CoreAI", "CoreAIAsset", "CoreAIDelegates", "CoreAIGraph"],
            path: "Tests/AssetFuzzWorker", swiftSettings: strict),
        .testTarget(name: "AssetFuzz", dependencies: ["AssetFuzzWorker"]),
        .executableTarget(
            name: "LoweringFuzzWorker",
            dependencies: [
                "CoreAIBackend", "CoreAIGraph", "CoreAIOps", "CoreAITestSupport", "OpenBLASBackend", "ReferenceBackend",
            ],
            path: "Tests/LoweringFuzzWorker", swiftSettings: strict),
        .testTarget(
            name: "LoweringTests",
            dependencies: ["LoweringFuzzWorker", "CoreAITestSupport", "OpenBLASBackend", "ReferenceBackend"]),
        .executableTarget(
            name: "EnduranceWorker", dependencies: ["CoreAI"], path: "Tests/EnduranceWorker", swiftSettings: strict),
        .testTarget(name: "UserCaseTests", dependencies: ["CoreAI", "CoreAITestSupport", "EnduranceWorker"]),
        .testTarget(name: "CommandLineTests", dependencies: ["CoreAIGraph", "NumpyFiles"]),
    ],
    swiftLanguageModes: [.v6]
)
