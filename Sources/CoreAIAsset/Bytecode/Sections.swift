/// One section: its number and its content.
struct Section {
    let id: UInt8
    let content: Cursor

    /// Reads the section at `cursor` and leaves `cursor` behind it.
    init(_ cursor: inout Cursor) throws(ReadError) {
        let head = try cursor.byte("a section")
        id = head & 0x7f
        let length = try cursor.size("the length of section \(head & 0x7f)")
        if head & 0x80 != 0 {
            let alignment = try cursor.varint("the alignment of section \(head & 0x7f)")
            try cursor.align(to: alignment, "section \(head & 0x7f)")
        }
        content = try cursor.part(length, "section \(head & 0x7f)")
    }
}

/// The sections of a file, in whatever order they lie.
struct Sections {
    enum ID: UInt8 {
        case strings, dialects, data, offsets, program, resources, resourceOffsets, dialectVersion, properties
    }

    private var contents: [UInt8: Cursor] = [:]
    private let file: Cursor

    init(_ cursor: inout Cursor) throws(ReadError) {
        file = cursor
        while !cursor.isAtEnd {
            let start = cursor.position
            let section = try Section(&cursor)
            guard ID(rawValue: section.id) != nil else {
                throw cursor.fault("expected a section numbered 0 to 8, found \(section.id)", at: start)
            }
            guard contents.updateValue(section.content, forKey: section.id) == nil else {
                throw cursor.fault("expected each section once, found section \(section.id) again", at: start)
            }
        }
    }

    func optional(_ id: ID) -> Cursor? { contents[id.rawValue] }

    func required(_ id: ID) throws(ReadError) -> Cursor {
        guard let content = contents[id.rawValue] else {
            throw file.fault(
                "expected a section of \(id) (number \(id.rawValue)), found none before the file ends", at: file.end)
        }
        return content
    }
}
