import CKernels
import Foundation

/// The levels of SIMD kernels: which this processor has, and which is used.
package enum ProcessorKernels {
    private static let names = ["avx512", "avx2", "neon", "plain"]

    /// What this processor and this build have, best first.
    package static let levels = names.filter { coreai_kernels_named($0) != nil }

    /// The level in use: the best, or what `COREAI_CPU_LEVEL` caps it to.
    package static var level: String { String(cString: coreai_kernels_best().pointee.name) }

    /// What is wrong with `COREAI_CPU_LEVEL` or `COREAI_CPU_FUSION`; nil if nothing is. Empty is as good as unset.
    package static let complaint: String? = {
        let environment = ProcessInfo.processInfo.environment
        let known = levels.joined(separator: ", ")
        if let wanted = environment["COREAI_CPU_LEVEL"], !wanted.isEmpty, !levels.contains(wanted) {
            return names.contains(wanted)
                ? "COREAI_CPU_LEVEL is '\(wanted)', which this processor or build lacks; it has \(known)"
                : "COREAI_CPU_LEVEL is '\(wanted)', expected one of \(known)"
        }
        if let wanted = environment["COREAI_CPU_FUSION"], !["", "0", "1"].contains(wanted) {
            return "COREAI_CPU_FUSION is '\(wanted)', expected 0 or 1"
        }
        return nil
    }()
}
