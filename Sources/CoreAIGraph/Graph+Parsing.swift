extension Graph {
    /// The graph whose text form this is.
    /// - Throws: `GraphError` naming the line.
    public init(parsing text: String) throws(GraphError) {
        var parser = GraphParser(scanner: TextScanner(text))
        self = try parser.graph(depth: 0)
        guard parser.scanner.isAtEnd else { throw parser.scanner.error("text after the end of the graph") }
    }
}

struct GraphParser {
    var scanner: TextScanner
    private static let maximumDepth = 64

    init(scanner: TextScanner) { self.scanner = scanner }

    mutating func graph(depth: Int) throws(GraphError) -> Graph {
        guard depth < Self.maximumDepth else { throw scanner.error("graphs nest too deeply") }
        try scanner.expect("graph")
        var graph = Graph(name: try scanner.string())
        graph.isPrivate = scanner.take("private")
        graph.noInline = scanner.take("noinline")
        if scanner.take("symbols") { graph.symbolCount = try scanner.integer() }
        if scanner.take("composite") {
            let name = try scanner.string()
            graph.composite = CompositeDeclaration(name, attributes: try attributes())
        }
        try scanner.expect("{")
        while !scanner.take("}") {
            if scanner.take("output") {
                graph.outputs.append(Port(try scanner.string(), try value()))
            } else if scanner.take("final") {
                let name = try scanner.string()
                guard let index = graph.states.firstIndex(where: { $0.name == name }) else {
                    throw scanner.error("no state named \(name)")
                }
                graph.states[index].output = try value()
            } else {
                try line(into: &graph, depth: depth)
            }
        }
        return graph
    }

    /// An argument, a state or an op.
    private mutating func line(into graph: inout Graph, depth: Int) throws(GraphError) {
        var results: [ValueID] = []
        if scanner.isNext("%") {
            results = try values()
            try scanner.expect("=")
        }
        if results.count == 1, scanner.take("input") {
            graph.inputs.append(Port(try scanner.string(), results[0]))
            return try types(of: results, into: &graph)
        }
        if results.count == 1, scanner.take("capture") {
            graph.captures.append(try value())
            graph.inputs.append(Port(try scanner.string(), results[0]))
            return try types(of: results, into: &graph)
        }
        if results.count == 1, scanner.take("state") {
            graph.states.append(StatePort(try scanner.string(), input: results[0], output: results[0]))
            return try types(of: results, into: &graph)
        }
        var op = Op(try scanner.word(), results: results)
        if scanner.isNext("%") { op.operands = try values() }
        if scanner.isNext("{") { op.attributes = try attributes() }
        if !results.isEmpty { try types(of: results, into: &graph) }
        if scanner.take("at") {
            let file = try scanner.string()
            try scanner.expect(":")
            let line = try scanner.integer()
            try scanner.expect(":")
            op.location = SourceLocation(file: file, line: line, column: try scanner.integer())
        }
        if scanner.take("{") {
            while !scanner.take("}") { op.regions.append(try self.graph(depth: depth + 1)) }
        }
        graph.ops.append(op)
    }

    private mutating func types(of values: [ValueID], into graph: inout Graph) throws(GraphError) {
        try scanner.expect(":")
        for (index, value) in values.enumerated() {
            if index > 0 { try scanner.expect(",") }
            let type = try self.type(depth: 0)
            while graph.values.count <= value.index { graph.values.append(Value(.token)) }
            graph.values[value.index] = Value(type)
        }
    }

    private mutating func value() throws(GraphError) -> ValueID {
        try scanner.expect("%")
        let index = try scanner.integer()
        guard index >= 0, index < 1 << 28 else { throw scanner.error("value number \(index)") }
        return ValueID(index)
    }

    private mutating func values() throws(GraphError) -> [ValueID] {
        var values = [try value()]
        while scanner.take(",") { values.append(try value()) }
        return values
    }

    // MARK: Types

    private mutating func type(depth: Int) throws(GraphError) -> ValueType {
        guard depth < Self.maximumDepth else { throw scanner.error("types nest too deeply") }
        if scanner.take("token") { return .token }
        if scanner.take("handle") { return .handle(try type(depth: depth + 1)) }
        if scanner.take("image") {
            try scanner.expect("(")
            let format = try scanner.integer()
            try scanner.expect(")")
            let sizes = try integers()
            guard sizes.count == 2, let code = UInt32(exactly: format) else { throw scanner.error("bad image type") }
            return .image(ImageType(pixelFormat: code, height: sizes[0], width: sizes[1]))
        }
        if scanner.take("sparse") {
            try scanner.expect("(")
            guard let scheme = SparseEncoding.Scheme(rawValue: try scanner.integer()) else {
                throw scanner.error("unknown sparse scheme")
            }
            try scanner.expect(",")
            let position = try scanner.integer()
            try scanner.expect(",")
            let coordinate = try scanner.integer()
            try scanner.expect(",")
            let stored = scanner.take("?") ? nil : try scanner.integer()
            var block: [Int] = []
            while scanner.take(",") { block.append(try scanner.integer()) }
            try scanner.expect(")")
            return .sparse(
                try tensorType(),
                SparseEncoding(
                    scheme: scheme, positionWidth: position, coordinateWidth: coordinate, storedCount: stored,
                    blockSize: block))
        }
        return .tensor(try tensorType())
    }

    private mutating func tensorType() throws(GraphError) -> TensorType {
        let name = try scanner.word()
        guard let scalar = ScalarType(name: name) else { throw scanner.error("unknown scalar type '\(name)'") }
        try scanner.expect("[")
        var shape: [Dimension] = []
        while !scanner.take("]") {
            if !shape.isEmpty { try scanner.expect(",") }
            shape.append(try dimension(depth: 0))
        }
        var type = TensorType(scalar, shape)
        if scanner.take("layout") {
            try scanner.expect("(")
            let alignments = try integers()
            try scanner.expect(",")
            let interleave = try integers()
            try scanner.expect(",")
            type.layout = LayoutConstraint(
                alignments: alignments, interleave: interleave, backing: try scanner.integer())
            try scanner.expect(")")
        }
        return type
    }

    private mutating func integers() throws(GraphError) -> [Int] {
        try scanner.expect("[")
        var values: [Int] = []
        while !scanner.take("]") {
            if !values.isEmpty { try scanner.expect(",") }
            values.append(try scanner.integer())
        }
        return values
    }

    // MARK: Sizes

    private mutating func dimension(depth: Int) throws(GraphError) -> Dimension {
        guard depth < Self.maximumDepth else { throw scanner.error("sizes nest too deeply") }
        var sum: Dimension
        if scanner.isNextDigitOrMinus() {
            if scanner.isNext("-"), !scanner.takesInteger() {
                try scanner.expect("-")
                sum = Dimension(-1) * (try product(depth: depth))
            } else {
                sum = try product(depth: depth)
            }
        } else {
            sum = try product(depth: depth)
        }
        while true {
            if scanner.take("+") {
                sum = sum + (try product(depth: depth))
            } else if scanner.isNext("-") {
                try scanner.expect("-")
                sum = sum - (try product(depth: depth))
            } else {
                return sum
            }
        }
    }

    private mutating func product(depth: Int) throws(GraphError) -> Dimension {
        var product = try factor(depth: depth)
        while scanner.take("*") { product = product * (try factor(depth: depth)) }
        return product
    }

    private mutating func factor(depth: Int) throws(GraphError) -> Dimension {
        if scanner.take("?") { return .unknown }
        if scanner.isNextDigitOrMinus() { return Dimension(try scanner.integer()) }
        let word = try scanner.word()
        if word.first == "s", let number = Int(word.dropFirst()), number >= 0 { return .symbol(number) }
        try scanner.expect("(")
        let a = try dimension(depth: depth + 1)
        try scanner.expect(",")
        let b = try dimension(depth: depth + 1)
        try scanner.expect(")")
        switch word {
        case "div": return a.floorDivided(by: b)
        case "mod": return a.modulo(b)
        case "max": return .maximum(a, b)
        case "min": return .minimum(a, b)
        default: throw scanner.error("unknown size function '\(word)'")
        }
    }

    // MARK: Attributes

    private mutating func attributes(depth: Int = 0) throws(GraphError) -> [NamedAttribute] {
        try scanner.expect("{")
        var attributes: [NamedAttribute] = []
        while !scanner.take("}") {
            if !attributes.isEmpty { try scanner.expect(",") }
            let name = scanner.isNextQuote() ? try scanner.string() : try scanner.word()
            try scanner.expect("=")
            attributes.append(NamedAttribute(name, try attribute(depth: depth)))
        }
        return attributes
    }

    private mutating func attribute(depth: Int) throws(GraphError) -> Attribute {
        guard depth < Self.maximumDepth else { throw scanner.error("attributes nest too deeply") }
        if scanner.isNextQuote() { return .string(try scanner.string()) }
        if scanner.isNextDigitOrMinus() { return .integer(try scanner.integer()) }
        if scanner.isNext("{") { return .dictionary(try attributes(depth: depth + 1)) }
        if scanner.take("[") {
            var values: [Attribute] = []
            while !scanner.take("]") {
                if !values.isEmpty { try scanner.expect(",") }
                values.append(try attribute(depth: depth + 1))
            }
            return .array(values)
        }
        if scanner.take("<") {
            var values: [Dimension] = []
            while !scanner.take(">") {
                if !values.isEmpty { try scanner.expect(",") }
                values.append(try dimension(depth: 0))
            }
            return .dimensions(values)
        }
        if scanner.take("'") { return .word(try scanner.text(upTo: UInt8(ascii: "'"))) }
        if scanner.take("@") {
            var path = [try scanner.string()]
            while scanner.take(".") { path.append(try scanner.string()) }
            return .symbol(path)
        }
        let word = try scanner.word()
        switch word {
        case "unit": return .unit
        case "true": return .bool(true)
        case "false": return .bool(false)
        case "type": return .type(try type(depth: 0))
        case "bytes": return .elements(Constant(Bytes(copying: try scanner.hexBytes()), packing: .elements))
        case "bits": return .elements(Constant(Bytes(copying: try scanner.hexBytes()), packing: .bits))
        case "splat": return .elements(Constant(Bytes(copying: try scanner.hexBytes()), packing: .splat))
        case "float":
            try scanner.expect("(")
            guard let value = Double(try scanner.text(upTo: UInt8(ascii: ")"))) else {
                throw scanner.error("expected a number")
            }
            return .float(value)
        default: throw scanner.error("unknown attribute '\(word)'")
        }
    }
}

extension TextScanner {
    /// True when the minus sign that is next belongs to a number.
    func takesInteger() -> Bool {
        var copy = self
        return (try? copy.integer()) != nil
    }
}
