import CoreAIGraph
import Glibc
import Synchronization

/// The bytes of an array: ours, or a caller's with the means to free them.
///
/// Ours begin on a multiple of 64, from 1 MiB on a page, so that accelerators can import them. Views retain this object
/// and never the array, so a live view does not make the array look shared.
package final class ArrayMemory: @unchecked Sendable {
    package let base: UnsafeMutableRawPointer
    package let byteCount: Int
    private let release: (@Sendable (UnsafeMutableRawPointer, Int) -> Void)?
    private let isMapped: Bool
    #if DEBUG
        /// What a run writes to at present.
        private let held = Guarded<[Range<UInt>]>([])
    #endif

    /// - Parameter zeroed: false for memory that is written as a whole before anyone reads it.
    package init(byteCount: Int, zeroed: Bool = true) {
        self.byteCount = byteCount
        release = nil
        let isLarge = byteCount >= 1 << 20
        if isLarge && zeroed {
            let mapped = mmap(nil, byteCount, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)
            guard let mapped, mapped != MAP_FAILED else {
                fatalError("NDArray: no memory for \(byteCount) bytes")
            }
            base = mapped
            isMapped = true
        } else {
            let capacity = max(byteCount, 64)
            base = .allocate(byteCount: capacity, alignment: isLarge ? 4096 : 64)
            if zeroed { memset(base, 0, capacity) }
            isMapped = false
        }
    }

    /// Memory of somebody else. `release` is called once, when nothing refers to it any more.
    package init(
        _ memory: UnsafeMutableRawBufferPointer,
        release: @escaping @Sendable (UnsafeMutableRawPointer, Int) -> Void
    ) {
        base = memory.baseAddress ?? ArrayReference.nowhere
        byteCount = memory.count
        self.release = release
        isMapped = false
    }

    deinit {
        if let release {
            release(base, byteCount)
        } else if isMapped {
            munmap(base, byteCount)
        } else {
            base.deallocate()
        }
    }
}

// MARK: Overlapping access, in debug builds

extension ArrayMemory {
    /// Traps if a run writes to this memory.
    func checkMutable() {
        #if DEBUG
            held.withLock {
                demand(
                    $0.isEmpty, "NDArray: mutable access to an array while a run holds it as a state or output view")
            }
        #endif
    }

    func hold(_ range: Range<UInt>) {
        #if DEBUG
            held.withLock {
                demand(
                    !$0.contains { $0.overlaps(range) },
                    "NDArray: two runs at the same time write to one array as a state or output view")
                $0.append(range)
            }
        #endif
    }

    func letGo(_ range: Range<UInt>) {
        #if DEBUG
            held.withLock { ranges in
                if let index = ranges.firstIndex(of: range) { ranges.remove(at: index) }
            }
        #endif
    }
}
