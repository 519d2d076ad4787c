import CoreAIGraph

let poolDefinitions = [maxPool(2), maxPool(3), sumPool(2), sumPool(3)]

private func windowOperands() -> [Signature.Operand] {
    [.data("x"), .steering("kernel"), .steering("stride"), .steering("dilation")]
}

private func maxPool(_ dimensions: Int) -> OpDefinition {
    OpDefinition(
        "primitive.max_pool_\(dimensions)d_v1",
        summary: "The largest element in each window over the last \(dimensions) axes; NaN wins.",
        signature: Signature(windowOperands() + [.steering("ceil_mode")]),
        inferTypes: { context throws(GraphError) in
            [.tensor(try pooledType(&context, dimensions, ceilMode: try context.number("ceil_mode") != 0))]
        },
        reference: { context throws(KernelError) in try pool(context, dimensions, takesMaximum: true) },
        examples: [
            example(
                dimensions, [1, 3, .nan, 2, 5], kernel: 2, stride: 1, dilation: 1, ceil: false, [3, .nan, .nan, 5]),
            // The last window of ceil mode reaches past the end.
            example(dimensions, [1, 3, -4, 2, 5], kernel: 2, stride: 2, dilation: 1, ceil: true, [3, 2, 5]),
            example(dimensions, [1, 3, -4, 2, 5], kernel: 2, stride: 2, dilation: 2, ceil: false, [1, 5]),
        ])
}

private func sumPool(_ dimensions: Int) -> OpDefinition {
    OpDefinition(
        "primitive.sum_pool_\(dimensions)d_v1",
        summary: "The sum of each window over the last \(dimensions) axes.",
        signature: Signature(windowOperands()),
        inferTypes: { context throws(GraphError) in [.tensor(try pooledType(&context, dimensions, ceilMode: false))] },
        reference: { context throws(KernelError) in try pool(context, dimensions, takesMaximum: false) },
        tolerance: .sumOfMagnitudes(16),
        examples: [
            example(dimensions, [1, 3, -4, 2, 5], kernel: 2, stride: 2, dilation: 1, ceil: nil, [4, -2]),
            example(dimensions, [1, 3, -4, .nan, 5], kernel: 2, stride: 1, dilation: 2, ceil: nil, [-3, .nan, 1]),
        ])
}

/// One row along the last axis.
private func example(
    _ dimensions: Int, _ values: [Double], kernel: Double, stride: Double, dilation: Double, ceil: Bool?,
    _ result: [Double]
) -> Example {
    let ones = [Double](repeating: 1, count: dimensions - 1)
    func steering(_ last: Double) -> Example.Tensor { .init(.int32, [dimensions], ones + [last]) }
    let leading = [Int](repeating: 1, count: dimensions + 1)
    return Example(
        [.init(.float32, leading + [values.count], values), steering(kernel), steering(stride), steering(dilation)]
            + (ceil.map { [.init(.bool, [], [$0 ? 1 : 0])] } ?? []),
        results: [.init(.float32, leading + [result.count], result)])
}

private func pooledType(
    _ context: inout InferenceContext, _ dimensions: Int, ceilMode: Bool
) throws(GraphError) -> TensorType {
    let x = try context.tensor("x")
    guard x.rank == dimensions + 2 else { throw context.error("\(x) must have rank \(dimensions + 2)") }
    guard x.scalar.isFloat || (x.scalar.isInteger && x.scalar.bitWidth >= 8 && x.scalar.bitWidth <= 64) else {
        throw context.error("\(x.scalar.name) elements cannot be pooled")
    }
    let (kernel, strides) = (try context.numbers("kernel"), try context.numbers("stride"))
    let dilations = try context.numbers("dilation")
    var shape = Array(x.shape.prefix(2))
    for axis in 0..<dimensions {
        guard kernel.count == dimensions, strides.count == dimensions, dilations.count == dimensions,
            kernel[axis] > 0, strides[axis] > 0, dilations[axis] > 0
        else { throw context.error("kernel, stride and dilation must be \(dimensions) positive numbers each") }
        let size = x.shape[axis + 2]
        let room = size - Dimension(dilations[axis]) * Dimension(kernel[axis] - 1) - 1
        if room.isUnknown {
            throw context.error("a window of \(kernel[axis]) with dilation \(dilations[axis]) is too large")
        }
        if let number = room.constant, number < 0 {
            throw context.error(
                "a window of \(kernel[axis]) with dilation \(dilations[axis]) does not fit size \(size)")
        }
        let stride = Dimension(strides[axis])
        shape.append((ceilMode ? room.ceilDivided(by: stride) : room.floorDivided(by: stride)) + 1)
    }
    return TensorType(x.scalar, shape)
}

private func pool(_ context: KernelContext, _ dimensions: Int, takesMaximum: Bool) throws(KernelError) {
    let (x, result) = (context.tensor("x"), context.results[0])
    let windows = try Windows(context, x, result, dimensions)
    let codec = ElementCodec(x.scalar)
    if x.scalar == .float64 {
        let values = (0..<x.count).map { x.pointer(as: Double.self)[$0] }
        windows.fold(values, empty: takesMaximum ? -.infinity : 0, takesMaximum ? larger : { $0 + $1 }) {
            result.pointer(as: Double.self)[$0] = $1
        }
    } else if x.scalar.isFloat {
        let values = (0..<x.count).map { Float(codec.load(x, $0)) }
        windows.fold(values, empty: takesMaximum ? -.infinity : 0, takesMaximum ? larger : { $0 + $1 }) {
            codec.store(Double($1), result, $0)
        }
    } else {
        let values = (0..<x.count).map { x.integer(at: $0) }
        let isUnsigned64 = x.scalar == .uint64
        let least = isUnsigned64 ? 0 : Int(codec.integerBounds.0)
        let larger: (Int, Int) -> Int =
            isUnsigned64 ? { UInt(bitPattern: $0) < UInt(bitPattern: $1) ? $1 : $0 } : { max($0, $1) }
        windows.fold(values, empty: takesMaximum ? least : 0, takesMaximum ? larger : { $0 &+ $1 }) {
            result.storeWrapped($1, at: $0)
        }
    }
}

private func larger<T: FloatingPoint>(_ a: T, _ b: T) -> T { a.isNaN || b.isNaN ? .nan : Swift.max(a, b) }

/// The windows of a pooling op, over three spatial axes; a 2D op has a first one of size 1.
private struct Windows {
    let planes: Int
    let size: [Int]
    let resultSize: [Int]
    let kernel: [Int]
    let stride: [Int]
    let dilation: [Int]

    init(_ context: KernelContext, _ x: HostTensor, _ result: HostTensor, _ dimensions: Int) throws(KernelError) {
        let lead = [Int](repeating: 1, count: 3 - dimensions)
        planes = x.shape.prefix(2).reduce(1, *)
        size = lead + x.shape.dropFirst(2)
        resultSize = lead + result.shape.dropFirst(2)
        kernel = lead + (try context.integers("kernel"))
        stride = lead + (try context.integers("stride"))
        dilation = lead + (try context.integers("dilation"))
        for list in [size, resultSize, kernel, stride, dilation] where list.count != 3 {
            throw KernelError("kernel, stride and dilation must have \(dimensions) entries each")
        }
    }

    /// Folds the elements of each window that lie inside the operand.
    @inline(__always)
    func fold<T>(_ values: [T], empty: T, _ combine: (T, T) -> T, store: (Int, T) -> Void) {
        /// The taps of an output position along one axis that lie inside.
        func taps(_ axis: Int, _ position: Int) -> [Int] {
            (0..<kernel[axis]).map { position * stride[axis] + $0 * dilation[axis] }.filter { $0 < size[axis] }
        }
        let allTaps = (0..<3).map { axis in (0..<resultSize[axis]).map { taps(axis, $0) } }
        var target = 0
        for plane in 0..<planes {
            for depths in allTaps[0] {
                for rows in allTaps[1] {
                    for columns in allTaps[2] {
                        var sum: T?
                        for depth in depths {
                            for row in rows {
                                let start = ((plane * size[0] + depth) * size[1] + row) * size[2]
                                for column in columns {
                                    let value = values[start + column]
                                    sum = sum.map { combine($0, value) } ?? value
                                }
                            }
                        }
                        store(target, sum ?? empty)
                        target += 1
                    }
                }
            }
        }
    }
}
