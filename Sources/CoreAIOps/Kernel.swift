public import CoreAIGraph

/// A dense row-major tensor in host memory, `scalar.byteStride` bytes an element.
///
/// A bool is a byte of 0 or 1, a sub-byte type a byte each (signed ones sign-extended), a complex number its real part
/// before its imaginary part. Owns nothing: the memory outlives the kernel call, not more.
public struct HostTensor: @unchecked Sendable {
    public let scalar: ScalarType
    public let shape: [Int]
    public let base: UnsafeMutableRawPointer

    public init(_ scalar: ScalarType, _ shape: [Int], _ base: UnsafeMutableRawPointer) {
        self.scalar = scalar
        self.shape = shape
        self.base = base
    }

    public var rank: Int { shape.count }
    public var count: Int { shape.reduce(1, *) }
    public var byteCount: Int { count * scalar.byteStride }

    /// The elements as `T`, whose size must be the scalar's.
    public func pointer<T: BitwiseCopyable>(as type: T.Type = T.self) -> UnsafeMutablePointer<T> {
        assert(MemoryLayout<T>.size == scalar.byteStride)
        return base.assumingMemoryBound(to: T.self)
    }

    /// Row-major strides, in elements.
    public var strides: [Int] {
        var strides = [Int](repeating: 1, count: rank)
        for axis in stride(from: rank - 2, through: 0, by: -1) { strides[axis] = strides[axis + 1] * shape[axis + 1] }
        return strides
    }
}

/// A failure that only the data can cause: an index out of range, an integer divided by zero.
public struct KernelError: Error, Sendable, CustomStringConvertible {
    public var message: String
    public init(_ message: String) { self.message = message }
    public var description: String { message }
}

/// Computes the results of one op. Results are allocated with the inferred shapes and may hold anything.
public typealias ReferenceKernel = @Sendable (inout KernelContext) throws(KernelError) -> Void

public struct KernelContext {
    public let op: Op
    public let signature: Signature
    public let operands: [HostTensor]
    public let results: [HostTensor]
    /// The values of the graph's symbols in this run.
    public let symbols: [Int?]
    /// Set by an op whose result is smaller than its inferred upper bound (`non_zero`): the true shape of each result, the
    /// elements packed at the start of its memory.
    public var actualShapes: [[Int]?]

    public init(op: Op, signature: Signature, operands: [HostTensor], results: [HostTensor], symbols: [Int?] = []) {
        self.op = op
        self.signature = signature
        self.operands = operands
        self.results = results
        self.symbols = symbols
        actualShapes = Array(repeating: nil, count: results.count)
    }

    /// A named data operand; for a variadic one, its first. Inference has made sure that it is there.
    public func tensor(_ name: String) -> HostTensor {
        guard let index = signature.index(of: name, in: op) else {
            preconditionFailure("\(op.name) has no operand '\(name)'")
        }
        return operands[index]
    }

    /// The elements of a variadic operand.
    public func tensors(_ name: String) -> ArraySlice<HostTensor> {
        operands[(signature.index(of: name, in: op) ?? operands.count)...]
    }

    /// The elements of a steering operand, from the attribute of its name or from the operand's memory.
    public func integers(_ name: String) throws(KernelError) -> [Int] {
        if case .dimensions(let values)? = op[attribute: name] {
            var numbers: [Int] = []
            for value in values {
                guard let number = value.evaluated(symbols) else {
                    throw KernelError("'\(name)' = \(value) has no value")
                }
                numbers.append(number)
            }
            return numbers
        }
        return tensor(name).integers
    }

    public func integer(_ name: String) throws(KernelError) -> Int {
        let values = try integers(name)
        guard values.count == 1 else { throw KernelError("'\(name)' must be one number, it has \(values.count)") }
        return values[0]
    }

    /// Axes made non-negative and checked against `rank`.
    public func axes(_ name: String, rank: Int) throws(KernelError) -> [Int] {
        var axes: [Int] = []
        for axis in try integers(name) {
            let positive = axis < 0 ? axis + rank : axis
            guard positive >= 0, positive < rank else {
                throw KernelError("\(name) \(axis) is out of range for rank \(rank)")
            }
            axes.append(positive)
        }
        return axes
    }

    public func axis(_ name: String, rank: Int) throws(KernelError) -> Int {
        let values = try axes(name, rank: rank)
        guard values.count == 1 else { throw KernelError("'\(name)' must be one axis, it has \(values.count)") }
        return values[0]
    }

    public func word(_ name: String) -> String? {
        if case .word(let word)? = op[attribute: name] { word } else { nil }
    }
}

extension HostTensor {
    /// The elements of an integer or boolean tensor; unsigned 64-bit ones as their bit pattern.
    public var integers: [Int] {
        let n = count
        func read<T: BinaryInteger & BitwiseCopyable>(_: T.Type) -> [Int] {
            let pointer = base.assumingMemoryBound(to: T.self)
            return (0..<n).map { Int(truncatingIfNeeded: pointer[$0]) }
        }
        switch scalar {
        case .int16: return read(Int16.self)
        case .int32: return read(Int32.self)
        case .int64: return read(Int64.self)
        case .uint16: return read(UInt16.self)
        case .uint32: return read(UInt32.self)
        case .uint64: return read(UInt64.self)
        case _ where scalar.isSignedInteger && scalar.bitWidth <= 8: return read(Int8.self)
        case _ where scalar.bitWidth <= 8: return read(UInt8.self)
        default: return []
        }
    }
}
