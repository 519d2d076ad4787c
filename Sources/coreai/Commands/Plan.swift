import CoreAI

func planCommand(_ arguments: Arguments) async throws {
    let model = try await loadModel(arguments)
    let name = try model.functionName(arguments.text(.function))
    guard let plan = model.planDescription(for: name), let placement = model.placement(for: name) else { return }
    var about = TextTable()
    about.add("model", arguments.model)
    about.add("function", name)
    addPlacement(placement, to: &about)
    for note in model.loadReport.notes { about.add("note", note) }
    var text = about.text()
    if arguments.flag(.ops) {
        var table = TextTable(.right)
        table.add("", "operation", "backend", "source", "why here")
        for (index, entry) in placement.entries.enumerated() {
            table.add("\(index)", entry.operation, entry.backend, entry.sourceLocation ?? "-", entry.reason ?? "")
        }
        text += "\nOperations\n" + table.text(indent: 2)
    }
    print(text + "\nPlan\n" + plan.split(separator: "\n", omittingEmptySubsequences: false).map { $0.isEmpty ? "" : "  \($0)" }.joined(separator: "\n"))
}

