/// Cases that wait for a capability, each with the one it waits for.
extension FixtureTests {
    enum Reason: String, CustomStringConvertible {
        case states, controlFlow, compressedWeights, images

        var description: String { rawValue }

        /// What the refusal must contain.
        var words: String {
            switch self {
            case .states: "states"
            case .controlFlow: "control flow"
            case .compressedWeights: "compressed weights"
            case .images: "image"
            }
        }
    }

    static let waiting: [String: Reason] = [:]
}
