import CoreAIBackend

/// What `bench --profile` lists: the kernel calls of the processor's backends in one run, the longest first.
struct Profile {
    struct Entry: Codable {
        let kernel: String
        /// The shape of its result, as it lies in memory.
        let shape: [Int]
        let calls: Int
        let seconds: Double
    }

    private static let runs = 10
    let entries: [Entry]

    init(_ session: Session) async throws {
        HostProfile.shared.start()
        for _ in 0..<Self.runs { _ = try await session.run() }
        entries = HostProfile.shared.stop().map { entry in
            Entry(
                kernel: entry.name, shape: entry.shape, calls: entry.calls / Self.runs,
                seconds: Double(entry.nanoseconds) / 1e9 / Double(Self.runs))
        }
    }

    func text() -> String {
        let total = entries.reduce(0) { $0 + $1.seconds }
        var table = TextTable(.right, .right, .right, .left, .left)
        table.add("share", "a run", "calls", "kernel", "result")
        for entry in entries {
            let share = total > 0 ? entry.seconds / total * 1000 : 0
            table.add(
                "\((share.rounded() / 10).description) %", entry.seconds.duration, "\(entry.calls)", entry.kernel,
                entry.shape.map(String.init).joined(separator: "x"))
        }
        return table.text()
    }
}
