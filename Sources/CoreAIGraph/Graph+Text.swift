/// The text form of a graph: what `Graph(parsing:)` reads back.
///
/// ```
/// graph "main" symbols 1 {
///   %0 = input "x" : float32[s0, 3]
///   %1 = primitive.constant_v1 {value = bytes 0x0000803f} : float32[1]
///   %2 = broadcasting_add_v1 %0, %1 : float32[s0, 3] at "net.py":12:4
///   output "y" %2
/// }
/// ```
extension Graph: CustomStringConvertible {
    public var description: String { text() }

    /// - Parameter constantLimit: constants of more bytes print as their size only, which does not parse.
    public func text(constantLimit: Int = .max) -> String {
        var printer = GraphPrinter(constantLimit: constantLimit)
        printer.write(self, indent: "")
        return printer.text
    }
}

struct GraphPrinter {
    var text = ""
    let constantLimit: Int

    mutating func write(_ graph: Graph, indent: String) {
        text += "\(indent)graph \(quoted(graph.name))"
        if graph.isPrivate { text += " private" }
        if graph.noInline { text += " noinline" }
        if graph.symbolCount > 0 { text += " symbols \(graph.symbolCount)" }
        if let composite = graph.composite {
            text += " composite \(quoted(composite.name)) "
            write(composite.attributes)
        }
        text += " {\n"
        let inner = indent + "  "
        let plainInputs = graph.inputs.count - graph.captures.count
        for (index, port) in graph.inputs.enumerated() {
            text += "\(inner)\(port.value) = "
            text += index < plainInputs ? "input" : "capture \(graph.captures[index - plainInputs])"
            text += " \(quoted(port.name)) : \(type(graph[port.value].type))\n"
        }
        for state in graph.states {
            text += "\(inner)\(state.input) = state \(quoted(state.name)) : \(type(graph[state.input].type))\n"
        }
        for op in graph.ops { write(op, in: graph, indent: inner) }
        for state in graph.states { text += "\(inner)final \(quoted(state.name)) \(state.output)\n" }
        for port in graph.outputs { text += "\(inner)output \(quoted(port.name)) \(port.value)\n" }
        text += "\(indent)}\n"
    }

    private mutating func write(_ op: Op, in graph: Graph, indent: String) {
        text += indent
        if !op.results.isEmpty { text += op.results.map(\.description).joined(separator: ", ") + " = " }
        text += op.name
        if !op.operands.isEmpty { text += " " + op.operands.map(\.description).joined(separator: ", ") }
        if !op.attributes.isEmpty {
            text += " "
            write(op.attributes)
        }
        if !op.results.isEmpty {
            text += " : " + op.results.map { type(graph[$0].type) }.joined(separator: ", ")
        }
        if let location = op.location {
            text += " at \(quoted(location.file)):\(location.line):\(location.column)"
        }
        if op.regions.isEmpty {
            text += "\n"
        } else {
            text += " {\n"
            for region in op.regions { write(region, indent: indent + "  ") }
            text += "\(indent)}\n"
        }
    }

    private mutating func write(_ attributes: [NamedAttribute]) {
        text += "{"
        for (index, attribute) in attributes.enumerated() {
            text += (index > 0 ? ", " : "") + name(attribute.name) + " = "
            write(attribute.value)
        }
        text += "}"
    }

    private mutating func write(_ attribute: Attribute) {
        switch attribute {
        case .unit: text += "unit"
        case .bool(let value): text += value ? "true" : "false"
        case .integer(let value): text += String(value)
        case .float(let value): text += "float(\(value))"
        case .string(let value): text += quoted(value)
        case .word(let value): text += "'" + value + "'"
        case .dimensions(let values): text += "<" + values.map(\.description).joined(separator: ", ") + ">"
        case .symbol(let path): text += "@" + path.map(quoted).joined(separator: ".")
        case .type(let value): text += "type " + type(value)
        case .elements(let constant): write(constant)
        case .array(let values):
            text += "["
            for (index, value) in values.enumerated() {
                if index > 0 { text += ", " }
                write(value)
            }
            text += "]"
        case .dictionary(let values): write(values)
        }
    }

    private mutating func write(_ constant: Constant) {
        switch constant.packing {
        case .elements: text += "bytes "
        case .bits: text += "bits "
        case .splat: text += "splat "
        }
        guard constant.bytes.count <= constantLimit else {
            text += "(\(constant.bytes.count) B)"
            return
        }
        let digits = Array("0123456789abcdef".utf8)
        text += constant.bytes.withUnsafeBytes { bytes in
            String(unsafeUninitializedCapacity: 2 + bytes.count * 2) { buffer in
                buffer[0] = UInt8(ascii: "0")
                buffer[1] = UInt8(ascii: "x")
                for (index, byte) in bytes.enumerated() {
                    buffer[2 + 2 * index] = digits[Int(byte >> 4)]
                    buffer[3 + 2 * index] = digits[Int(byte & 15)]
                }
                return 2 + bytes.count * 2
            }
        }
    }

    private func type(_ type: ValueType) -> String {
        switch type {
        case .tensor(let tensor): return tensorType(tensor)
        case .sparse(let tensor, let encoding):
            let stored = encoding.storedCount.map(String.init) ?? "?"
            let block =
                encoding.blockSize.isEmpty ? "" : ", " + encoding.blockSize.map(String.init).joined(separator: ", ")
            return "sparse(\(encoding.scheme.rawValue), \(encoding.positionWidth), \(encoding.coordinateWidth), "
                + "\(stored)\(block)) \(tensorType(tensor))"
        case .image(let image): return "image(\(image.pixelFormat))[\(image.height), \(image.width)]"
        case .handle(let inner): return "handle \(self.type(inner))"
        case .token: return "token"
        }
    }

    private func tensorType(_ tensor: TensorType) -> String {
        guard let layout = tensor.layout else { return tensor.description }
        func list(_ values: [Int]) -> String { "[" + values.map(String.init).joined(separator: ", ") + "]" }
        return "\(tensor.description) layout(\(list(layout.alignments)), \(list(layout.interleave)), \(layout.backing))"
    }

    private func name(_ name: String) -> String {
        let isPlain =
            !name.isEmpty && name.utf8.first.map { !(48...57).contains($0) } == true
            && name.utf8.allSatisfy {
                ($0 | 32 >= 97 && $0 | 32 <= 122) || (48...57).contains($0) || $0 == 95 || $0 == 46
            }
        return isPlain ? name : quoted(name)
    }

    private func quoted(_ string: String) -> String {
        var text = "\""
        for scalar in string.unicodeScalars {
            switch scalar {
            case "\"": text += "\\\""
            case "\\": text += "\\\\"
            case "\n": text += "\\n"
            case _ where scalar.value < 32: text += "\\u{\(String(scalar.value, radix: 16))}"
            default: text.unicodeScalars.append(scalar)
            }
        }
        return text + "\""
    }
}
