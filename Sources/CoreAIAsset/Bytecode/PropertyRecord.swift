/// The property record of one operation: attributes by name.
struct PropertyRecord {
    private var indices: [(name: String, attribute: Int)] = []
    private let place: Cursor

    /// The fields of the operations that have a record, in the order in which they are stored; `?` marks optional ones.
    private static let layouts: [String: [String]] = [
        "serialization.asset": ["source?", "version?"],
        "dataflow.graph": [
            "argAttrs", "compositeDecl?", "externalize", "functionType", "isPrivate", "name", "noInline", "paramDecls",
            "resAttrs",
        ],
        "dataflow.invoke": ["arg_attrs", "callee", "res_attrs"],
        "dataflow.isolated_group": ["arg_attrs", "delegate_id", "res_attrs"],
        "dataflow.namespace": ["name", "paramDecls"],
        "primitive.constant": ["value"],
        "primitive.gelu": ["approximate"],
        "primitive.pad": ["padding_mode"],
        "primitive.interpolate": ["interpolation_mode"],
        "primitive.interpolate_coordinates": ["interpolation_mode"],
        "primitive.scan": ["combiner"],
        "primitive.scatter_along_axis": ["scatter_mode"],
        "metal.metal4_kernel": ["kernel_name", "kernel_source"],
        "execution.delegate_v1": ["arg_attrs", "delegate_id", "lifecycle", "res_attrs", "resource"],
        "execution.delegate_v2": ["arg_attrs", "delegate_attrs?", "delegate_id", "lifecycle", "res_attrs", "resource"],
        "execution.target_spec": ["compilation", "spec"],
        "debuginfo.record": ["id"],
        "debuginfo.value": ["variable"],
        "udml.func": ["argAttrs", "functionType", "name", "noInline", "paramDecls", "resAttrs"],
        "udml.call": ["arg_attrs", "callee", "res_attrs"],
        "udml.placeholder": ["annotations", "keep_placeholder?", "opname"],
        "serialization.opaque": ["opaqueAttrs", "opname"],
        "serialization.terminator": ["opaqueAttrs", "opname"],
    ]

    /// The attribute codes of fields that hold one of a list of words.
    static let wordCodes: [String: UInt64] = [
        "padding_mode": 17, "approximate": 19, "scatter_mode": 20, "combiner": 25, "interpolation_mode": 43,
    ]

    /// - Parameter cursor: a record with its size in front.
    init(_ record: Cursor, of name: String, attributeCount: Int) throws(ReadError) {
        var outer = record
        let size = try outer.count("bytes of properties")
        var cursor = try outer.part(size, "properties of \(name)")
        place = cursor
        guard let layout = Self.layouts[name] ?? Self.layouts[name.withoutVersion] else {
            throw cursor.fault(
                "expected no properties on \(name), which has none that this runtime knows, found \(size) bytes")
        }
        for field in layout {
            guard field.hasSuffix("?") else {
                indices.append((field, try cursor.index(below: attributeCount, "an attribute (\(field) of \(name))")))
                continue
            }
            let (index, isPresent) = try cursor.flagged("\(field) of \(name)")
            guard isPresent else { continue }
            indices.append(
                (
                    String(field.dropLast()),
                    try cursor.checkedIndex(index, below: attributeCount, "an attribute (\(field) of \(name))")
                ))
        }
        try cursor.expectEnd(of: "the properties of \(name)")
    }

    /// The numbers of the attributes by field, in stored order.
    var fields: [(name: String, attribute: Int)] { indices }

    func optional(_ field: String) -> Int? { indices.first { $0.name == field }?.attribute }

    func required(_ field: String) throws(ReadError) -> Int {
        guard let index = optional(field) else { throw place.fault("expected a property \(field), found none") }
        return index
    }
}

extension String {
    /// The name of an operation without the version at its end: `dataflow.graph` for `dataflow.graph_v1`.
    var withoutVersion: String {
        guard let mark = range(of: "_v", before: endIndex), mark.upperBound < endIndex,
            self[mark.upperBound...].allSatisfy(\.isNumber)
        else { return self }
        return String(self[..<mark.lowerBound])
    }

    /// The last occurrence of the two characters `text`.
    private func range(of text: String, before end: Index) -> Range<Index>? {
        var upper = end
        while let lower = index(upper, offsetBy: -text.count, limitedBy: startIndex) {
            if self[lower..<upper] == text { return lower..<upper }
            upper = index(before: upper)
        }
        return nil
    }
}
