package import CoreAIGraph

let rangeDefinitions = [
    OpDefinition(
        "primitive.range_v1",
        summary: "start + i * step for i from 0 while that lies before stop.",
        signature: Signature([.steering("start"), .steering("stop"), .steering("step")]),
        inferTypes: { context throws(GraphError) in
            let scalar = try context.declaredScalar()
            guard let start = context.steering("start")?.first, let stop = context.steering("stop")?.first,
                let step = context.steering("step")?.first?.constant
            else {
                let count = try countFromData(context, scalar) ?? context.dataDependentSize(axis: 0, rank: 1)
                return [.tensor(TensorType(scalar, [count]))]
            }
            guard step != 0, step != .min else { throw context.error("the step is \(step)") }
            let span = Dimension.maximum(step > 0 ? stop - start : start - stop, 0)
            let count = span.ceilDivided(by: Dimension(abs(step)))
            if let number = count.constant, number <= 64, scalar.isInteger {
                context.resultValues = [(0..<number).map { start + Dimension($0) * Dimension(step) }]
            }
            let size = count.isUnknown ? context.dataDependentSize(axis: 0, rank: 1) : count
            return [.tensor(TensorType(scalar, [size]))]
        },
        reference: { context throws(KernelError) in
            let result = context.results[0]
            let count = try rangeCount(context, result.scalar)
            guard count <= result.count else {
                throw KernelError("the range has \(count) elements, the result holds \(result.count)")
            }
            if result.scalar.isInteger {
                let (start, step) = (try context.integer("start"), try context.integer("step"))
                for index in 0..<count { result.storeWrapped(start &+ index &* step, at: index) }
            } else {
                let codec = ElementCodec(result.scalar)
                let (start, step) = (try number("start", context), try number("step", context))
                for index in 0..<count {
                    let value =
                        codec.computesInFloat
                        ? Double(Float(start) + Float(index) * Float(step)) : start + Double(index) * step
                    codec.store(value, result, index)
                }
            }
            if count < result.count { context.actualShapes[0] = [count] }
        },
        tolerance: .ulps(1),
        examples: [
            Example(
                [.init(.int32, [], [5]), .init(.int32, [], [-2]), .init(.int32, [], [-3])],
                results: [.init(.int32, [3], [5, 2, -1])]),
            Example(
                [.init(.int8, [], [3]), .init(.int8, [], [3]), .init(.int8, [], [1])], results: [.init(.int8, [0], [])]),
            Example(
                [.init(.float32, [], [0]), .init(.float32, [], [1]), .init(.float32, [], [0.25])],
                results: [.init(.float32, [4], [0, 0.25, 0.5, 0.75])]),
            Example(
                [.init(.float32, [], [0]), .init(.float32, [], [1]), .init(.float32, [], [-1])],
                results: [.init(.float32, [0], [])]),
        ])
]

/// The number of elements of a range over floating-point numbers, if its operands are at hand.
private func countFromData(_ context: InferenceContext, _ scalar: ScalarType) throws(GraphError) -> Dimension? {
    let operands = context.operandTensors.compactMap { $0 }
    guard operands.count == context.op.operands.count, !operands.isEmpty else { return nil }
    do {
        let kernel = KernelContext(op: context.op, signature: context.signature, operands: operands, results: [])
        return Dimension(try rangeCount(kernel, scalar))
    } catch {
        throw context.error(error.message)
    }
}

/// The number of elements that a range op gives, from its operands alone: who allocates the result of a range over
/// floating-point numbers asks here, as shape inference sees integers only.
package func rangeCount(_ context: KernelContext, _ scalar: ScalarType) throws(KernelError) -> Int {
    if scalar.isInteger {
        return try rangeCount(
            start: try context.integer("start"), stop: try context.integer("stop"), step: try context.integer("step"))
    }
    return try rangeCount(
        start: try number("start", context), stop: try number("stop", context), step: try number("step", context))
}

package func rangeCount(start: Int, stop: Int, step: Int) throws(KernelError) -> Int {
    guard step != 0 else { throw KernelError("the step of a range is 0") }
    let (span, overflow) =
        step > 0 ? stop.subtractingReportingOverflow(start) : start.subtractingReportingOverflow(stop)
    if stop == start || (step > 0) != (stop > start) { return 0 }
    guard !overflow else { throw KernelError("the range from \(start) to \(stop) is too long") }
    return (span - 1) / Int(clamping: step.magnitude) + 1
}

package func rangeCount(start: Double, stop: Double, step: Double) throws(KernelError) -> Int {
    guard step != 0, start.isFinite, stop.isFinite, step.isFinite else {
        throw KernelError("a range needs finite bounds and a step other than 0, not \(start), \(stop), \(step)")
    }
    guard let count = Int(exactly: ((stop - start) / step).rounded(.up)) else {
        throw KernelError("the range from \(start) to \(stop) by \(step) is too long")
    }
    return max(count, 0)
}

private func number(_ name: String, _ context: KernelContext) throws(KernelError) -> Double {
    if context.op[attribute: name] != nil { return Double(try context.integer(name)) }
    let tensor = context.tensor(name)
    guard tensor.count == 1 else { throw KernelError("'\(name)' must be one number, it has \(tensor.count)") }
    return ElementCodec(tensor.scalar).load(tensor, 0)
}
