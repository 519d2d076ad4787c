import CoreAIGraph
package import CoreAIOps

extension TestTensor {
    package init(_ example: Example.Tensor) {
        self.init(example.scalar, example.shape)
        let codec = Parts(host)
        for (index, value) in example.values.enumerated() { codec.store(value, index) }
    }

    /// The elements as numbers, complex ones as two each.
    package var doubles: [Double] {
        let codec = Parts(host)
        return withExtendedLifetime(bytes) { (0..<codec.count).map(codec.load) }
    }
}

/// A tensor as real numbers: its elements, or the parts of complex ones.
private struct Parts {
    let tensor: HostTensor
    let codec: ElementCodec
    var count: Int { tensor.count }

    init(_ whole: HostTensor) {
        if let part = whole.scalar.complexPart {
            tensor = HostTensor(part, [2 * whole.count], whole.base)
        } else {
            tensor = whole
        }
        codec = ElementCodec(tensor.scalar)
    }

    func load(_ index: Int) -> Double { codec.load(tensor, index) }

    /// Exact values go in as they are; NaN and infinity of types without them do not occur in examples.
    func store(_ value: Double, _ index: Int) { codec.store(value, tensor, index) }
}
