import CKernels
import Foundation

/// The levels of SIMD kernels: which this processor has, and which is used.
package enum ProcessorKernels {
    private static let names = ["avx512", "avx2", "neon", "plain"]

    /// What this processor and this build have, best first.
    package static let levels = names.filter { coreai_kernels_named($0) != nil }

    /// The level in use: the best, or what `COREAI_CPU_LEVEL` caps it to.
    package static var level: String { String(cString: coreai_kernels_best().pointee.name) }

    /// What is wrong with `COREAI_CPU_LEVEL`; nil if it is unset or names a level of this processor.
    package static let complaint: String? = {
        guard let wanted = ProcessInfo.processInfo.environment["COREAI_CPU_LEVEL"], !levels.contains(wanted) else {
            return nil
        }
        let known = levels.joined(separator: ", ")
        return names.contains(wanted)
            ? "COREAI_CPU_LEVEL is '\(wanted)', which this processor or build lacks; it has \(known)"
            : "COREAI_CPU_LEVEL is '\(wanted)', expected one of \(known)"
    }()
}
