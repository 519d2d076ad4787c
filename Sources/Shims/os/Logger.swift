import Foundation

/// Writes messages to standard error.
///
/// Warnings, errors and faults appear; `COREAI_LOG` set to `debug`, `info` or `notice` shows more.
public struct Logger: Sendable {
    private let subsystem: String
    private let category: String

    public init() { self.init(subsystem: "", category: "") }

    public init(subsystem: String, category: String) {
        self.subsystem = subsystem
        self.category = category
    }

    public init(_ log: OSLog) { self.init(subsystem: log.subsystem, category: log.category) }

    public func log(_ message: @autoclosure () -> OSLogMessage) { write(.default, "notice", message) }
    public func log(level: OSLogType, _ message: @autoclosure () -> OSLogMessage) { write(level, level.name, message) }
    public func trace(_ message: @autoclosure () -> OSLogMessage) { write(.debug, "trace", message) }
    public func debug(_ message: @autoclosure () -> OSLogMessage) { write(.debug, "debug", message) }
    public func info(_ message: @autoclosure () -> OSLogMessage) { write(.info, "info", message) }
    public func notice(_ message: @autoclosure () -> OSLogMessage) { write(.default, "notice", message) }
    public func warning(_ message: @autoclosure () -> OSLogMessage) { write(.error, "warning", message) }
    public func error(_ message: @autoclosure () -> OSLogMessage) { write(.error, "error", message) }
    public func critical(_ message: @autoclosure () -> OSLogMessage) { write(.fault, "critical", message) }
    public func fault(_ message: @autoclosure () -> OSLogMessage) { write(.fault, "fault", message) }

    private func write(_ level: OSLogType, _ name: String, _ message: () -> OSLogMessage) {
        guard level.rank >= Self.lowestRank else { return }
        let place = [subsystem, category].filter { !$0.isEmpty }.joined(separator: ":")
        let line = "\(name)\(place.isEmpty ? "" : " [\(place)]"): \(message().text)\n"
        FileHandle.standardError.write(Data(line.utf8))
    }

    private static let lowestRank: Int =
        switch ProcessInfo.processInfo.environment["COREAI_LOG"]?.lowercased() {
        case "trace", "debug": OSLogType.debug.rank
        case "info": OSLogType.info.rank
        case "notice", "default": OSLogType.default.rank
        default: OSLogType.error.rank
        }
}

public struct OSLogType: RawRepresentable, Hashable, Sendable {
    public let rawValue: UInt8
    public init(rawValue: UInt8) { self.rawValue = rawValue }
    public static let `default` = OSLogType(rawValue: 0)
    public static let info = OSLogType(rawValue: 1)
    public static let debug = OSLogType(rawValue: 2)
    public static let error = OSLogType(rawValue: 16)
    public static let fault = OSLogType(rawValue: 17)

    /// Debug, info, default, error, fault.
    var rank: Int {
        switch self {
        case .debug: 0
        case .info: 1
        case .error: 3
        case .fault: 4
        default: 2
        }
    }

    var name: String { ["debug", "info", "notice", "error", "fault"][rank] }
}

public final class OSLog: Sendable {
    public static let `default` = OSLog(subsystem: "", category: "")
    let subsystem: String
    let category: String
    public init(subsystem: String, category: String) {
        self.subsystem = subsystem
        self.category = category
    }
}

public func os_log(_ type: OSLogType = .default, log: OSLog = .default, _ message: @autoclosure () -> OSLogMessage) {
    Logger(log).log(level: type, message())
}
