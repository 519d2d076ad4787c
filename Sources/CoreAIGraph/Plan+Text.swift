extension Plan: CustomStringConvertible {
    /// The plan as people read it: segments with their ops and the reasons for each that is not where it was preferred,
    /// the steps in order, and the count of ops by backend.
    public var description: String {
        let target = targets.sorted { $0.key < $1.key }.map { "\($0.key):\($0.value)" }.joined(separator: " ")
        var lines = ["plan \(graph.name) target \(target)"]
        let width = segments.map(\.backend.count).max() ?? 0
        let noteOfOp = Dictionary(notes.map { ($0.op, $0) }, uniquingKeysWith: { first, _ in first })
        for (index, segment) in segments.enumerated() {
            let padding = String(repeating: " ", count: width - segment.backend.count)
            var reasons: [String] = []
            for op in segment.ops {
                if let reason = noteOfOp[op]?.reason, !reasons.contains(reason) { reasons.append(reason) }
            }
            var line = "  segment \(index) \(segment.backend)\(padding)  ops \(Self.ranges(segment.ops))"
            if !segment.states.isEmpty {
                let inputs = Set(segment.states.map(\.input))
                let names = graph.states.filter { inputs.contains($0.input) }.map(\.name)
                line += "  updates " + names.joined(separator: " ")
            }
            if !reasons.isEmpty {
                let more = reasons.count - Self.reasonLimit
                line += "  -- " + reasons.prefix(Self.reasonLimit).joined(separator: "; ")
                if more > 0 { line += "; and \(more) more" }
            }
            lines.append(line)
        }
        let steps = steps.map { step in
            switch step {
            case .run(let segment): "run \(segment)"
            case .resolveSizes(let op): "sizes \(op)"
            case .runAndBindSizes(let segment): "run \(segment) binding sizes"
            case .control(let op): "\(graph[op].name) (op \(op.index))"
            }
        }
        lines.append("  " + (steps.isEmpty ? "nothing to run" : steps.joined(separator: "; ")))
        for (op, plans) in subplans.sorted(by: { $0.key < $1.key }) {
            for (region, plan) in plans.enumerated() {
                lines.append("  region \(region) of \(op)")
                lines += plan.description.split(separator: "\n").map { "    " + $0 }
            }
        }
        lines.append("  " + placementSummary)
        return lines.joined(separator: "\n") + "\n"
    }

    /// `placed openblas 53 of 302, reference 249 of 302`
    public var placementSummary: String {
        let notes = allNotes
        let counts = Dictionary(grouping: notes, by: \.backend).mapValues(\.count).sorted { $0.key < $1.key }
        guard !counts.isEmpty else { return "placed nothing: the function only hands values on" }
        return "placed " + counts.map { "\($0.key) \($0.value) of \(notes.count)" }.joined(separator: ", ")
    }

    /// Every reason is in the notes; a line of the plan shows the first few.
    private static let reasonLimit = 3

    /// `0-3 5`
    private static func ranges(_ ops: [OpID]) -> String {
        var text: [String] = []
        var start: Int?
        var previous = -2
        for index in ops.map(\.index).sorted() + [Int.max] {
            if index == previous + 1 {
                previous = index
                continue
            }
            if let start { text.append(start == previous ? "\(start)" : "\(start)-\(previous)") }
            start = index
            previous = index
        }
        return text.joined(separator: " ")
    }
}
