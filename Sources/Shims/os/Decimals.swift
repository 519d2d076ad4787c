import Foundation

func decimals(_ value: Double, _ count: Int) -> String { String(format: "%.\(min(max(count, 0), 30))f", value) }
