import CoreAIGraph
import Foundation

/// A complex number as reference kernels compute it.
struct ComplexPair {
    var real: Double
    var imaginary: Double

    init(_ real: Double, _ imaginary: Double) {
        self.real = real
        self.imaginary = imaginary
    }

    init(_ tensor: HostTensor, _ index: Int) {
        let part = tensor.scalar.complexPart ?? .float32
        let parts = HostTensor(part, [2 * tensor.count], tensor.base)
        let codec = ElementCodec(part)
        self.init(codec.load(parts, 2 * index), codec.load(parts, 2 * index + 1))
    }

    func store(_ tensor: HostTensor, _ index: Int) {
        let part = tensor.scalar.complexPart ?? .float32
        let parts = HostTensor(part, [2 * tensor.count], tensor.base)
        let codec = ElementCodec(part)
        codec.store(real, parts, 2 * index)
        codec.store(imaginary, parts, 2 * index + 1)
    }

    static func + (a: Self, b: Self) -> Self { Self(a.real + b.real, a.imaginary + b.imaginary) }
    static func - (a: Self, b: Self) -> Self { Self(a.real - b.real, a.imaginary - b.imaginary) }
    static func * (a: Self, b: Self) -> Self {
        Self(a.real * b.real - a.imaginary * b.imaginary, a.real * b.imaginary + a.imaginary * b.real)
    }
    static func / (a: Self, b: Self) -> Self {
        let norm = b.real * b.real + b.imaginary * b.imaginary
        return Self(
            (a.real * b.real + a.imaginary * b.imaginary) / norm, (a.imaginary * b.real - a.real * b.imaginary) / norm)
    }
    static func == (a: Self, b: Self) -> Bool { a.real == b.real && a.imaginary == b.imaginary }

    var exponential: Self {
        let magnitude = exp(real)
        return Self(magnitude * cos(imaginary), magnitude * sin(imaginary))
    }
    var logarithm: Self { Self(log(hypot(real, imaginary)), atan2(imaginary, real)) }
    var sine: Self { Self(sin(real) * cosh(imaginary), cos(real) * sinh(imaginary)) }
    var cosine: Self { Self(cos(real) * cosh(imaginary), -sin(real) * sinh(imaginary)) }
    var hyperbolicSine: Self { Self(sinh(real) * cos(imaginary), cosh(real) * sin(imaginary)) }
    var hyperbolicCosine: Self { Self(cosh(real) * cos(imaginary), sinh(real) * sin(imaginary)) }

    func power(_ exponent: Self) -> Self {
        if exponent == Self(0, 0) { return Self(1, 0) }
        if self == Self(0, 0) { return Self(0, 0) }
        return (exponent * logarithm).exponential
    }
}
