extension OpTable {
    /// `Docs/Operations.md`: one row for each operation of the table.
    package static var document: String {
        var lines = [
            "# Operations",
            "",
            "Generated from the op table; `COREAI_UPDATE_GOLDENS=1 swift test --filter OperationsDocumentTests` rewrites it.",
            "",
            "Names are those stored in an asset, without `aicode.`. Operands in *italics* steer (axes, sizes, flags): when their",
            "values are known at load they become attributes. *form* says how an operation may be computed: `pointwise` and",
            "`reduction` fuse with their neighbours, `view` moves no data, `kernel` needs a kernel of its own.",
            "",
            "| operation | operands | results | attributes | form | tolerance | meaning |",
            "|---|---|---|---|---|---|---|",
        ]
        for definition in definitions.sorted(by: { $0.name < $1.name }) {
            let signature = definition.signature
            let operands = signature.operands.map { operand in
                let name = operand.role == .steering ? "*\(operand.name)*" : operand.name
                return operand.isVariadic ? name + "..." : name
            }
            let names = ([definition.name] + definition.aliases).map { "`\($0)`" }.joined(separator: ", ")
            let results = signature.results.joined(separator: ", ") + (signature.hasVariadicResults ? "..." : "")
            let cells = [
                names, operands.joined(separator: ", "), results, signature.attributes.joined(separator: ", "),
                definition.form.name, definition.tolerance.text,
                definition.summary.replacing("|", with: "\\|"),
            ]
            lines.append("| " + cells.joined(separator: " | ") + " |")
        }
        return lines.joined(separator: "\n") + "\n"
    }
}

extension OpForm {
    var name: String {
        switch self {
        case .pointwise: "pointwise"
        case .reduction: "reduction"
        case .view: "view"
        case .weight: "weight"
        case .kernel: "kernel"
        case .control: "control"
        }
    }
}

extension Tolerance {
    var text: String {
        switch self {
        case .exact: "exact"
        case .ulps(let count): "\(count) ulp"
        case .sumOfMagnitudes(let factor): "\(factor) eps of the sum of magnitudes"
        }
    }
}
