import CoreAIGraph

extension HostProgram {
    /// Lets every step that changes a part of an operand do so where the operand lies, if nobody reads the operand
    /// afterwards: appending to a state then costs what is appended.
    mutating func updateInPlace() {
        let states = Set(graph.states.map(\.input))
        let arguments = Set(graph.inputs.map(\.value))
        for index in steps.indices {
            guard let update = steps[index].update, let result = steps[index].results.first else { continue }
            let memory = root(of: update.operand)
            let isOurs = !arguments.contains(memory) && !constants.contains(memory)
            guard isOurs, !update.operands.contains(where: { root(of: $0) == memory }),
                states.contains(memory) || steps[..<index].contains(where: { $0.results.map(root).contains(memory) }),
                !graph.outputs.contains(where: { root(of: $0.value) == memory }),
                !graph.states.contains(where: { root(of: $0.output) == memory }),
                !steps[(index + 1)...].contains(where: { $0.operands.contains { root(of: $0) == memory } })
            else { continue }
            views[result] = update.operand
            steps[index].operands = update.operands
            steps[index].prepare = update.prepare
            steps[index].name += " in place"
        }
    }
}
