import CoreAIDelegates
import CoreAIGraph
import CoreAIRuntime

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
    if arguments.flag(.kernels), let function = try model.loadFunction(named: name) {
        print("\nKernels\n" + kernelTable(function.kernelCalls).text(indent: 2), terminator: "")
    }
    guard arguments.flag(.ops) else { return }
    var table = TextTable(.right)
    table.add("op", "name", "backend", "source", "why not elsewhere")
    for note in plan.notes {
        table.add(
            "\(note.op.index)", note.name, note.backend, note.location?.description ?? "-", note.reason ?? "-")
    }
    print("\nOperations\n" + table.text(indent: 2), terminator: "")
}

private func kernelTable(_ calls: [KernelCall]) -> TextTable {
    var table = TextTable(.right, .right)
    table.add("segment", "call", "kernel", "result", "source")
    for (index, call) in calls.enumerated() {
        table.add(
            "\(call.segment)", "\(index)", call.name, call.result, call.location?.description ?? "-")
    }
    return table
}
