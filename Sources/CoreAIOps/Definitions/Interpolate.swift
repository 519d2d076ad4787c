import CoreAIGraph

let interpolateDefinitions = [
    OpDefinition(
        "primitive.interpolate_v1",
        summary: "Resamples a tensor: along each axis, position o reads (o + 0.5 - offset) / scale - 0.5, clamped.",
        signature: Signature(
            [.data("x"), .steering("output_shape"), .data("scale", [.float32]), .data("offset", [.float32])],
            attributes: ["interpolation_mode"]),
        inferTypes: { context throws(GraphError) in
            let x = try context.tensor("x")
            _ = try interpolationMode(context)
            if let count = context.steeringCount("output_shape"), count != x.rank {
                throw context.error("'output_shape' has \(count) entries for rank \(x.rank)")
            }
            for name in ["scale", "offset"] {
                let type = try context.tensor(name)
                guard type.scalar == .float32, type.rank == 1 else { throw context.error("'\(name)' is \(type)") }
                _ = try context.same(type.shape[0], Dimension(x.rank), "'\(name)' has one entry for each axis")
            }
            guard let sizes = context.steering("output_shape") else {
                return [.tensor(TensorType(x.scalar, context.dataDependentShape(rank: x.rank)))]
            }
            return [.tensor(TensorType(x.scalar, try context.checkedShape(sizes, "output_shape")))]
        },
        reference: { context throws(KernelError) in
            let (x, result) = (context.tensor("x"), context.results[0])
            let (scale, offset) = (context.tensor("scale"), context.tensor("offset"))
            guard scale.count == x.rank, offset.count == x.rank, result.rank == x.rank else {
                throw KernelError("scale and offset must have \(x.rank) entries each")
            }
            guard result.count > 0 else { return }
            var coordinates: [[Float]] = []
            for axis in 0..<x.rank {
                guard x.shape[axis] > 0 else { throw KernelError("axis \(axis) has no elements to interpolate") }
                let (scale, offset) = (scale.pointer(as: Float.self)[axis], offset.pointer(as: Float.self)[axis])
                let list = (0..<result.shape[axis]).map { (Float($0) + 0.5 - offset) / scale - 0.5 }
                guard list.allSatisfy(\.isFinite) else {
                    throw KernelError(
                        "scale \(scale) and offset \(offset) of axis \(axis) give coordinates that are not finite")
                }
                coordinates.append(list.map { min(max($0, 0), Float(x.shape[axis] - 1)) })
            }
            if context.word("interpolation_mode") == InterpolationMode.linear.rawValue {
                interpolateLinearly(x, coordinates, into: result)
            } else {
                selectElements(x, coordinates.map { $0.map { Int($0.rounded(.toNearestOrEven)) } }, into: result)
            }
        },
        tolerance: .sumOfMagnitudes(8),
        examples: [
            example(.float32, .linear, [0, 10], scale: 2, offset: 0, [0, 2.5, 7.5, 10]),
            example(.int8, .linear, [-1, -10], scale: 2, offset: 0, [-1, -3, -7, -10]),
            example(.float32, .linear, [0, 9], scale: 3, offset: -1, [0, 3, 6, 9]),
            // Ties go to the even neighbour: 0.5 to 0, 1.5 and 2.5 to 2.
            example(.int16, .nearest, [1, 2, 3, 4], scale: 1, offset: -0.5, [1, 3, 3]),
            example(.float32, .nearest, [1, 2], scale: 2, offset: 0, [1, 1, 2, 2]),
        ]),
    OpDefinition(
        "primitive.interpolate_coordinates_v1",
        summary: "The values of a tensor at given coordinates, clamped to its bounds.",
        signature: Signature([.data("x"), .data("coordinates", [.float32])], attributes: ["interpolation_mode"]),
        inferTypes: { context throws(GraphError) in
            let (x, coordinates) = (try context.tensor("x"), try context.tensor("coordinates"))
            _ = try interpolationMode(context)
            guard coordinates.scalar == .float32, coordinates.rank == 2 else {
                throw context.error("coordinates are float32[n, rank], not \(coordinates)")
            }
            _ = try context.same(coordinates.shape[1], Dimension(x.rank), "coordinates have one entry for each axis")
            return [.tensor(TensorType(x.scalar, [coordinates.shape[0]]))]
        },
        reference: { context throws(KernelError) in
            let (x, coordinates, result) = (context.tensor("x"), context.tensor("coordinates"), context.results[0])
            guard coordinates.shape == [result.count, x.rank] else {
                throw KernelError("coordinates have shape \(coordinates.shape), expected \([result.count, x.rank])")
            }
            guard x.count > 0 || result.count == 0 else {
                throw KernelError("\(x.shape) has no elements to interpolate")
            }
            let linear = context.word("interpolation_mode") == InterpolationMode.linear.rawValue
            for index in 0..<result.count {
                let point = (0..<x.rank).map { coordinates.pointer(as: Float.self)[index * x.rank + $0] }
                guard point.allSatisfy(\.isFinite) else { throw KernelError("the coordinate \(point) is not finite") }
                let lists = zip(point, x.shape).map { [min(max($0, 0), Float($1 - 1))] }
                let target = HostTensor(
                    x.scalar, Array(repeating: 1, count: x.rank), result.base + index * x.scalar.byteStride)
                if linear {
                    interpolateLinearly(x, lists, into: target)
                } else {
                    selectElements(x, lists.map { [Int($0[0].rounded(.toNearestOrEven))] }, into: target)
                }
            }
        },
        tolerance: .sumOfMagnitudes(8),
        examples: [
            Example(
                [.init(.float32, [2, 2], [0, 1, 2, 3]), .init(.float32, [2, 2], [0.5, 0.5, 9, -9])],
                attributes: [.init("interpolation_mode", .word("linear"))], results: [.init(.float32, [2], [1.5, 2])]),
            Example(
                [.init(.int8, [4], [1, 2, 3, 4]), .init(.float32, [3, 1], [0.5, 1.5, 2.5])],
                attributes: [.init("interpolation_mode", .word("nearest_neighbor"))],
                results: [.init(.int8, [3], [1, 3, 3])]),
        ]),
]

private enum InterpolationMode: String, CaseIterable {
    case linear
    case nearest = "nearest_neighbor"
}

private func example(
    _ scalar: ScalarType, _ mode: InterpolationMode, _ x: [Double], scale: Double, offset: Double, _ result: [Double]
) -> Example {
    Example(
        [
            .init(scalar, [1, x.count], x), .init(.uint32, [2], [1, Double(result.count)]),
            .init(.float32, [2], [1, scale]), .init(.float32, [2], [0, offset]),
        ],
        attributes: [.init("interpolation_mode", .word(mode.rawValue))],
        results: [.init(scalar, [1, result.count], result)])
}

private func interpolationMode(_ context: InferenceContext) throws(GraphError) -> InterpolationMode {
    guard case .word(let word)? = context.op[attribute: "interpolation_mode"],
        let mode = InterpolationMode(rawValue: word)
    else {
        throw context.error("'interpolation_mode' must be one of \(InterpolationMode.allCases.map(\.rawValue))")
    }
    let scalar = try context.tensor("x").scalar
    guard mode == .nearest || scalar.isFloat || (scalar.isInteger && scalar.bitWidth <= 64) else {
        throw context.error("\(scalar.name) elements cannot be interpolated linearly")
    }
    return mode
}

/// One axis after the other; axes along which nothing changes cost nothing. Rounds to the element type once, at the end.
private func interpolateLinearly(_ x: HostTensor, _ coordinates: [[Float]], into result: HostTensor) {
    let codec = ElementCodec(x.scalar)
    if codec.computesInFloat {
        let values = (0..<x.count).map { Float(codec.load(x, $0)) }
        for (index, value) in resampled(values, x.shape, coordinates).enumerated() {
            codec.store(Double(value), result, index)
        }
    } else {
        let values = (0..<x.count).map { codec.load(x, $0) }
        for (index, value) in resampled(values, x.shape, coordinates).enumerated() { codec.store(value, result, index) }
    }
}

private func resampled<T: BinaryFloatingPoint>(_ values: [T], _ shape: [Int], _ coordinates: [[Float]]) -> [T] {
    var (values, shape) = (values, shape)
    for (axis, list) in coordinates.enumerated() {
        let size = shape[axis]
        if list.count == size, list.enumerated().allSatisfy({ Float($0) == $1 }) { continue }
        let outer = shape[..<axis].reduce(1, *)
        let inner = shape[(axis + 1)...].reduce(1, *)
        var next: [T] = []
        next.reserveCapacity(outer * list.count * inner)
        for block in 0..<outer {
            for coordinate in list {
                let low = Int(coordinate.rounded(.down))
                let weight = T(coordinate - Float(low))
                let first = (block * size + low) * inner
                let second = (block * size + min(low + 1, size - 1)) * inner
                for offset in 0..<inner {
                    next.append(
                        weight == 0
                            ? values[first + offset]
                            : values[first + offset] * (1 - weight) + values[second + offset] * weight)
                }
            }
        }
        values = next
        shape[axis] = list.count
    }
    return values
}
