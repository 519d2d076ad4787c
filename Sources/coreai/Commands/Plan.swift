import CoreAIDelegates
import CoreAIGraph

func planCommand(_ arguments: Arguments) async throws {
    let model = try await loadModel(arguments)
    let name = try model.functionName(arguments.text(.function))
    guard let plan = model.content.function(name)?.plan, let placement = model.placement(for: name) else { return }
    var about = TextTable()
    about.add("model", arguments.model)
    about.add("function", name)
    addPlacement(placement, to: &about)
    for note in model.loadReport.notes { about.add("note", note) }
    print(about.text() + "\n" + plan.description, terminator: "")
    if arguments.flag(.planGraph) { print("\n" + plan.graph.text(constantLimit: 64), terminator: "") }
    guard arguments.flag(.ops) else { return }
    var table = TextTable(.right)
    table.add("op", "name", "backend", "source", "why not elsewhere")
    for note in plan.notes {
        table.add(
            "\(note.op.index)", note.name, note.backend, note.location?.description ?? "-", note.reason ?? "-")
    }
    print("\nOperations\n" + table.text(indent: 2), terminator: "")
}
