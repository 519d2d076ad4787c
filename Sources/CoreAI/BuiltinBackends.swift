package import CoreAIDelegates
import OpenBLASBackend
import ReferenceBackend

extension BackendRegistry {
    /// The backends that are always there, in order of preference.
    package static let builtin = BackendRegistry([OpenBLASBackend(), ReferenceBackend()])
}
