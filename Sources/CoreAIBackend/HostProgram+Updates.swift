import CoreAIGraph

extension HostProgram {
    /// Lets every step that changes a part of an operand do so where the operand lies, if nobody reads the operand
    /// afterwards: appending to a state then costs what is appended.
    mutating func updateInPlace() {
        guard steps.contains(where: { $0.update != nil }) else { return }
        let states = Set(graph.states.map(\.input))
        /// The last step that reads each memory, and the memories that must stay as they are for the end.
        var lastRead: [ValueID: Int] = [:]
        var kept = Set((graph.outputs.map(\.value) + graph.states.map(\.output)).map(root))
        for (index, step) in steps.enumerated() {
            for operand in step.operands { lastRead[root(of: operand)] = index }
        }
        var written: Set<ValueID> = []
        for index in steps.indices {
            if let update = steps[index].update, let result = steps[index].results.first {
                let memory = root(of: update.operand)
                let isOurs = states.contains(memory) || written.contains(memory)
                if isOurs, !kept.contains(memory), lastRead[memory] ?? index <= index,
                    !update.operands.contains(where: { root(of: $0) == memory })
                {
                    views[result] = memory
                    steps[index].operands = update.operands
                    steps[index].prepare = update.prepare
                    steps[index].name += " in place"
                    lastRead[memory] = lastRead[result]
                    if kept.contains(result) { kept.insert(memory) }
                }
            }
            for result in steps[index].results { written.insert(root(of: result)) }
        }
    }
}
