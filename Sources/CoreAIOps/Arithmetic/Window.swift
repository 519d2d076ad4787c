import CoreAIGraph

/// How the positions of a sliding window are spaced, one number for each spatial axis.
struct Window {
    var kernel: [Int]
    var stride: [Int]
    var dilation: [Int]
    /// Of transposed convolutions: what is trimmed from both ends, and how far the far end reaches further.
    var padding: [Int]
    var outputPad: [Int]

    /// The number of positions at which a dilated kernel of `kernel` taps fits in `size` elements.
    static func positions(_ size: Dimension, kernel: Dimension, stride: Int, dilation: Int) -> Dimension {
        (size - Dimension(dilation) * (kernel - 1) - 1).floorDivided(by: Dimension(stride)) + 1
    }

    /// The number of elements that the kernel reaches from `size` positions.
    static func reach(
        _ size: Dimension, kernel: Dimension, stride: Int, dilation: Int, padding: Int, outputPad: Int
    ) -> Dimension {
        let span = (size - 1) * Dimension(stride) + Dimension(dilation) * (kernel - 1) + 1
        return span - Dimension(padding) * 2 + Dimension(outputPad)
    }

    /// The same window with axes of one tap in front, so that it has three.
    func withThreeAxes() -> Window {
        func padded(_ numbers: [Int], _ value: Int) -> [Int] {
            Array(repeating: value, count: max(3 - numbers.count, 0)) + numbers
        }
        return Window(
            kernel: padded(kernel, 1), stride: padded(stride, 1), dilation: padded(dilation, 1),
            padding: padded(padding, 0), outputPad: padded(outputPad, 0))
    }
}

/// The last three axes of an image, of which the first may be left out.
struct Volume {
    let depth: Int
    let height: Int
    let width: Int
    var count: Int { depth * height * width }
}

extension [Int] {
    /// The spatial axes of a shape [N, C, .., H, W].
    var volume: Volume { Volume(depth: count > 4 ? self[2] : 1, height: self[count - 2], width: self[count - 1]) }
}

extension InferenceContext {
    /// The operands of a convolution over `axes` spatial axes, checked.
    func convolved(_ axes: Int) throws(GraphError) -> (x: TensorType, weights: TensorType) {
        let (x, weights) = (try tensor("x"), try tensor("weights"))
        try expectSameScalar("x", "weights")
        guard x.scalar.hasArithmetic, x.scalar != .bool else { throw error("\(x.scalar.name) cannot be convolved") }
        guard x.rank == axes + 2, weights.rank == axes + 2 else {
            throw error("'x' has rank \(x.rank) and 'weights' \(weights.rank); both must have \(axes + 2)")
        }
        return (x, weights)
    }

    /// The numbers of a steering operand, one for each spatial axis, none below `least`.
    func spatial(_ name: String, _ axes: Int, atLeast least: Int) throws(GraphError) -> [Int] {
        let numbers = try numbers(name)
        guard numbers.count == axes else {
            throw error("operand '\(name)' has \(numbers.count) numbers for \(axes) spatial axes")
        }
        guard numbers.allSatisfy({ $0 >= least }) else {
            throw error("operand '\(name)' is \(numbers), its numbers must be at least \(least)")
        }
        return numbers
    }

    /// The number of groups, which divides the number of channels.
    func groups(of channels: Dimension) throws(GraphError) -> Int {
        let groups = try number("groups")
        guard groups >= 1 else { throw error("operand 'groups' is \(groups), it must be at least 1") }
        if let count = channels.constant, count % groups != 0 {
            throw error("\(count) channels are not divisible into \(groups) groups")
        }
        return groups
    }
}

extension KernelContext {
    func spatial(_ name: String, _ axes: Int, atLeast least: Int) throws(KernelError) -> [Int] {
        let numbers = try integers(name)
        guard numbers.count == axes, numbers.allSatisfy({ $0 >= least }) else {
            throw KernelError("'\(name)' is \(numbers), it must be \(axes) numbers of at least \(least)")
        }
        return numbers
    }

    func groups(of channels: Int) throws(KernelError) -> Int {
        let groups = try integer("groups")
        guard groups >= 1, channels % groups == 0 else {
            throw KernelError("\(channels) channels are not divisible into \(groups) groups")
        }
        return groups
    }
}
