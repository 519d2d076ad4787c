/// Cases that wait for a capability, each with the one it waits for.
extension FixtureTests {
    enum Reason: String, CustomStringConvertible {
        case compressedWeights, images

        var description: String { rawValue }

        /// What the refusal must contain.
        var words: String {
            switch self {
            case .compressedWeights: "compressed weights"
            case .images: "image"
            }
        }
    }

    static let waiting: [String: Reason] = [
        "qwen3_tiny_4bit": .compressedWeights,
        "weights_int4": .compressedWeights,
        "weights_lut4": .compressedWeights,
        "weights_sparse_bitmask": .compressedWeights,
        "mixed_p_fp8_e4m3": .compressedWeights,
        "mixed_p_int4_block": .compressedWeights,
        "mixed_p_int8": .compressedWeights,
        "mixed_p_pal4": .compressedWeights,
        "mixed_p_sparse50": .compressedWeights,
        "mixed_p_uint8": .compressedWeights,
        "mixed_pal2_group8": .compressedWeights,
        "mixed_pal4": .compressedWeights,
        "mixed_w4": .compressedWeights,
        "mixed_w4_block32": .compressedWeights,
        "mixed_w8": .compressedWeights,
        "mixed_w8a8": .compressedWeights,
        "qwen3_tiny_ios": .compressedWeights,
        "decode_image_inputs": .images,
    ]
}
