/// Ends the program with a message when a caller broke a rule; unlike `precondition`, the message appears in release
/// builds too.
@inline(__always)
func demand(
    _ condition: Bool, _ message: @autoclosure () -> String, file: StaticString = #fileID, line: UInt = #line
) {
    if !condition { fatalError(message(), file: file, line: line) }
}
