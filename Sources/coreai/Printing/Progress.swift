import Foundation

/// Runs `body`; if that takes longer than 0.3 s and standard error is a terminal, a line there says so meanwhile.
func showingProgress<Result>(_ message: String, _ body: () async throws -> Result) async throws -> Result {
    guard isatty(STDERR_FILENO) == 1 else { return try await body() }
    let ticker = Task.detached {
        let start = ContinuousClock.now
        let delay = Duration.milliseconds(300)
        try await Task.sleep(for: delay)
        while !Task.isCancelled {
            let seconds = (ContinuousClock.now - start).components.seconds
            FileHandle.standardError.write(Data("\r\(message)… \(seconds) s".utf8))
            do { try await Task.sleep(for: delay) } catch { break }
        }
        FileHandle.standardError.write(Data("\r\u{1b}[K".utf8))
    }
    func end() async {
        ticker.cancel()
        _ = try? await ticker.value
    }
    do {
        let result = try await body()
        await end()
        return result
    } catch {
        await end()
        throw error
    }
}
