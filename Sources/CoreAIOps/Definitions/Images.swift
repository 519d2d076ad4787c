import CoreAIGraph

/// Known so that assets with images can be read; pixel buffers are converted outside of graphs.
let imageDefinitions = [
    OpDefinition(
        "primitive.image_to_tensor_v1",
        summary: "The bytes of an image as a tensor of height, width and channels.",
        signature: Signature([.data("image")]),
        inferTypes: { context throws(GraphError) in
            guard case .image(let image)? = context.operandTypes.first else {
                throw context.error("operand 'image' must be an image")
            }
            return [.tensor(TensorType(.uint8, try pixelShape(image, context)))]
        },
        reference: { _ throws(KernelError) in throw imagesAreUnsupported }),
    OpDefinition(
        "primitive.tensor_to_image_v1",
        summary: "An image of the bytes of a tensor.",
        signature: Signature([.data("tensor", [.uint8])]),
        inferTypes: { context throws(GraphError) in
            guard let type = context.declaredTypes.first, case .image(let image) = type else {
                throw context.error("the result must be an image")
            }
            _ = try context.sameShape(
                try context.tensor("tensor").shape, try pixelShape(image, context), "the tensor does not fit \(type)")
            return [type]
        },
        reference: { _ throws(KernelError) in throw imagesAreUnsupported }),
]

private let imagesAreUnsupported = KernelError(
    "images are not computed on this platform; use a function that takes tensors instead")

private func pixelShape(_ image: ImageType, _ context: InferenceContext) throws(GraphError) -> [Dimension] {
    let (height, width) = (Dimension(image.height), Dimension(image.width))
    guard image.height >= 0, image.width >= 0, !(height * width).isUnknown else {
        throw context.error("an image of \(image.width) by \(image.height) pixels")
    }
    switch image.pixelFormat {
    case 24: return [height, width, 3]
    case 32, 0x4247_5241: return [height, width, 4]  // ARGB, 'BGRA'
    case 0x7934_3230:  // 'y420': planes Y, Cb, Cr
        return [height * width + 2 * height.floorDivided(by: 2) * width.floorDivided(by: 2)]
    default: return [height * width]
    }
}
