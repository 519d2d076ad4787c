/// Cases that wait for a capability, each with the one it waits for.
extension FixtureTests {
    enum Reason: String, CustomStringConvertible {
        case images

        var description: String { rawValue }

        /// What the refusal must contain.
        var words: String {
            switch self {
            case .images: "image"
            }
        }
    }

    static let waiting: [String: Reason] = [
        "decode_image_inputs": .images
    ]
}
