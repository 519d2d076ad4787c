import CoreAI
import Foundation

struct Problem: LocalizedError {
    var errorDescription: String?
    init(_ description: String) { errorDescription = description }
}

func heading(_ text: String) { print("\n\(text)") }

func row(_ name: String, _ value: String) { print("  \(padded(name, 19))\(value)") }

/// `text` with blanks to the right up to `width`, and at least two.
func padded(_ text: String, _ width: Int) -> String {
    text + String(repeating: " ", count: max(2, width - text.count))
}

func elements(of array: NDArray) -> [Float] {
    let view = array.view(as: Float.self)
    guard let span = view.contiguousElements else { return [] }
    return span.indices.map { span[$0] }
}

func milliseconds(_ duration: Duration) -> String {
    let value = duration / .milliseconds(1)
    return (value < 10 ? decimals(value) : String(Int(value.rounded()))) + " ms"
}

func decimals(_ value: Double) -> String { String(format: "%.2f", value) }

/// The last two parts of a path.
func shortPath(_ url: URL) -> String { url.pathComponents.suffix(2).joined(separator: "/") }
