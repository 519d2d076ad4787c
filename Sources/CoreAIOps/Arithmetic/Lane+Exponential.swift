import Glibc

extension Float {
    package static func exponential(_ x: Float) -> Float { expf(x) }
}

extension Double {
    package static func exponential(_ x: Double) -> Double { exp(x) }
}
