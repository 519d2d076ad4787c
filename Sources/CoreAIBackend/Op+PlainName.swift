import Foundation
package import CoreAIGraph

extension Op {
    /// The name without its prefix and version: `conv2d` for `primitive.conv2d_v1`.
    package var plainName: String {
        var text = name[...]
        if let dot = text.lastIndex(of: ".") { text = text[text.index(after: dot)...] }
        if let mark = text.range(of: "_v", options: .backwards), text[mark.upperBound...].allSatisfy(\.isNumber) {
            text = text[..<mark.lowerBound]
        }
        return String(text)
    }
}
