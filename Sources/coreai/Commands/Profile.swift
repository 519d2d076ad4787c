import CoreAIBackend

/// What `bench --profile` lists: the kernel calls of the processor's backends, the longest first.
struct Profile {
    private static let runs = 10
    private let entries: [HostProfile.Entry]
    private let nanoseconds: UInt64

    init(_ session: Session) async throws {
        HostProfile.shared.start()
        for _ in 0..<Self.runs { _ = try await session.run() }
        entries = HostProfile.shared.stop()
        nanoseconds = entries.reduce(0) { $0 + $1.nanoseconds }
    }

    func text() -> String {
        var table = TextTable(.right, .right, .right, .left, .left)
        table.add("share", "a run", "calls", "kernel", "result")
        for entry in entries {
            let share = Double(entry.nanoseconds) / Double(max(1, nanoseconds)) * 1000
            table.add(
                "\((share.rounded() / 10).description) %",
                (Double(entry.nanoseconds) / 1e9 / Double(Self.runs)).duration, "\(entry.calls / Self.runs)",
                entry.name, entry.shape.map(String.init).joined(separator: "x"))
        }
        return table.text()
    }
}
