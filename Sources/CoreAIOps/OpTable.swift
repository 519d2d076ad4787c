/// All operations, by stored name.
public enum OpTable {
    /// Every definition, grouped by family, in the order of the documentation.
    public static let definitions: [OpDefinition] = [pointwiseDefinitions, reductionDefinitions, productDefinitions, movementDefinitions].flatMap { $0 }

    private static let byName: [String: OpDefinition] = {
        var table: [String: OpDefinition] = [:]
        for definition in definitions {
            for name in [definition.name] + definition.aliases { table[name] = definition }
        }
        return table
    }()

    public static subscript(name: String) -> OpDefinition? { byName[name] }
}
