/// What decoding one program may allocate, so that a small file cannot ask for much memory.
///
/// Charges are estimates of what the decoded form takes; the bytes of weights are mapped and never charged.
final class Budget {
    static let limit = 64 << 20
    private var left = Budget.limit

    func charge(_ byteCount: Int, _ count: Int = 1, at cursor: Cursor) throws(ReadError) {
        let (total, overflow) = byteCount.multipliedReportingOverflow(by: count)
        guard !overflow, total <= left else {
            throw cursor.fault("expected a program that takes at most \(Self.limit >> 20) MB when decoded, found more")
        }
        left -= total
    }
}
