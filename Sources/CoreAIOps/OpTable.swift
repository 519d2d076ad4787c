/// All operations, by stored name.
public enum OpTable {
    /// Every definition, grouped by family, in the order of the documentation.
    public static let definitions: [OpDefinition] = [
        pointwiseDefinitions, reductionDefinitions, productDefinitions, movementDefinitions, controlDefinitions,
        blockwiseShiftScaleDefinitions, lookupTableDefinitions, sparseDefinitions,
    ].flatMap { $0 }

    private static let byName: [String: OpDefinition] = {
        var table: [String: OpDefinition] = [:]
        for definition in definitions {
            for name in [definition.name] + definition.aliases { table[name] = definition }
        }
        return table
    }()

    /// True for ops whose regions are part of their meaning; the region of any other op only spells out what the table
    /// says better.
    package static func isControl(_ name: String) -> Bool {
        if case .control? = byName[name]?.form { true } else { false }
    }

    public static subscript(name: String) -> OpDefinition? { byName[name] }
}
