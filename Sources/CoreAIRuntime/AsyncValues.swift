public import CoreAIGraph
import Synchronization

extension InferenceFunction {
    /// A value that exists already or will when encoded work is done. Never changes afterwards.
    public final class AsyncValue: @unchecked Sendable {
        let type: ArgumentType
        let pending: Pending<AsyncContent>

        init(type: ArgumentType, pending: Pending<AsyncContent>) {
            self.type = type
            self.pending = pending
        }

        public init(_ ndArray: consuming NDArray) {
            let array = ndArray
            type = .array(array.scalarType, shape: array.shape)
            pending = Pending(.array(array))
        }

        public init(_ pixelBuffer: CVReadOnlyPixelBuffer) {
            type = .image
            pending = Pending(.image(pixelBuffer.pixels))
        }

        /// Elements in a buffer, read when the work that takes them is executed.
        /// - Parameters:
        ///   - byteOffset: where the first element begins.
        ///   - strides: in elements; empty means row-major.
        @unsafe public init(
            unsafeBuffer: consuming any MTLBuffer, byteOffset: Int = 0, scalarType: NDArray.ScalarType, shape: [Int],
            strides: [Int] = [], interleaveLayout: NDArray.InterleaveLayout? = nil
        ) {
            type = .array(scalarType, shape: shape)
            pending = Pending(
                .buffer(
                    ArrayReference(
                        unsafeBuffer, byteOffset: byteOffset, scalarType: scalarType, shape: shape, strides: strides,
                        interleave: interleaveLayout)))
        }

        /// The value after all writes encoded so far.
        public init(_ mutableValue: consuming AsyncMutableValue) {
            let target = mutableValue.target
            type = ArgumentType(target.content.argument)
            pending = Pending()
            let pending = pending
            target.lastWrite.whenDone { pending.finish($0.map { target.content }) }
        }

        public var kind: InferenceValue.Kind { if case .array = type { .ndArray } else { .image } }

        /// Waits for the value. Nil for an image; a copy if the value lies in a foreign buffer.
        /// - Throws: what made the work fail that computes it.
        public var ndArray: NDArray? { get async throws { try await pending.value.ndArray } }

        /// Waits for the value. Nil for an array.
        /// - Throws: what made the work fail that computes it.
        public var pixelBuffer: CVReadOnlyPixelBuffer? {
            get async throws {
                if case .image(let pixels) = try await pending.value { CVReadOnlyPixelBuffer(pixels) } else { nil }
            }
        }
    }

    /// A place that encoded work writes to: a state, or a place for an output.
    ///
    /// Work that writes to one value is executed in the order it was encoded, across streams too.
    public struct AsyncMutableValue: ~Copyable {
        let target: WriteTarget

        /// The array is copied if it is shared.
        public init(_ ndArray: consuming NDArray) {
            var array = ndArray
            _ = array.mutableReference
            target = WriteTarget(.array(array))
        }

        public init(_ pixelBuffer: consuming CVMutablePixelBuffer) {
            target = WriteTarget(.image(pixelBuffer.pixels))
        }

        /// - Parameters:
        ///   - byteOffset: where the first element begins.
        ///   - strides: in elements; empty means row-major.
        @unsafe public init(
            unsafeBuffer: consuming any MTLBuffer, byteOffset: Int = 0, scalarType: NDArray.ScalarType, shape: [Int],
            strides: [Int] = [], interleaveLayout: NDArray.InterleaveLayout? = nil
        ) {
            target = WriteTarget(
                .buffer(
                    ArrayReference(
                        unsafeBuffer, byteOffset: byteOffset, scalarType: scalarType, shape: shape, strides: strides,
                        interleave: interleaveLayout)))
        }

        /// A zeroed value of a descriptor whose sizes are all known.
        public init(descriptor: consuming InferenceValue.Descriptor) {
            switch descriptor {
            case .ndArray(let array): self.init(NDArray(descriptor: array))
            case .image(let image):
                guard
                    let pixels = PixelMemory(width: image.width, height: image.height, format: image.pixelFormatType)
                else { fatalError("AsyncMutableValue: no pixel buffer for \(descriptor.text)") }
                self.init(CVMutablePixelBuffer(pixels))
            }
        }

        /// Waits for all writes encoded so far. Nil for an array.
        /// - Throws: what made one of them fail.
        public var pixelBuffer: CVMutablePixelBuffer? {
            consuming get async throws {
                let target = target
                _ = try await target.lastWrite.value
                return if case .image(let pixels) = target.content { CVMutablePixelBuffer(pixels) } else { nil }
            }
        }

        /// Waits for all writes encoded so far. Nil for an image; a copy if the value lies in a foreign buffer.
        /// - Throws: what made one of them fail.
        public var ndArray: NDArray? {
            consuming get async throws {
                let target = target
                _ = try await target.lastWrite.value
                return target.content.ndArray
            }
        }
    }

    /// What encoded work writes, by name: states, or places for outputs.
    public struct AsyncMutableViews: ~Copyable, ~Escapable {
        private(set) var targets: [String: WriteTarget] = [:]

        @_lifetime(immortal) public init() {}

        /// A second value for a name replaces the first.
        @_lifetime(self: copy self)
        public mutating func insert(_ mutableValue: inout AsyncMutableValue, for name: String) {
            targets[name] = mutableValue.target
        }
    }
}

enum AsyncContent: Sendable {
    case array(NDArray)
    case image(PixelMemory)
    case buffer(ArrayReference)

    var argument: Argument {
        switch self {
        case .array(let array): .array(array.sharedReference)
        case .image(let pixels): .image(pixels)
        case .buffer(let reference): .array(reference)
        }
    }

    var ndArray: NDArray? {
        switch self {
        case .array(let array): array
        case .image: nil
        case .buffer(let reference): NDArray(copying: reference)
        }
    }
}

/// Where encoded work writes, and the last such work.
final class WriteTarget: Sendable {
    let content: AsyncContent
    private let last = Guarded(Pending<Void>(()))

    init(_ content: AsyncContent) { self.content = content }

    var lastWrite: Pending<Void> { last.withLock(\.self) }

    /// Makes `write` the last one and returns the one before.
    func append(_ write: Pending<Void>) -> Pending<Void> {
        last.withLock { last in
            defer { last = write }
            return last
        }
    }
}

extension NDArray {
    /// A row-major copy.
    init(copying reference: ArrayReference) {
        let scalarType = reference.scalarType
        self.init(scalarType, ArrayLayout(scalarType, shape: reference.layout.shape), zeroed: scalarType.isSubByte)
        if scalarType.isSubByte {
            let dense = ArrayMemory(byteCount: reference.layout.elementCount, zeroed: false)
            reference.pack(into: dense.base)
            self.reference.unpack(from: dense.base)
        } else {
            reference.pack(into: box.memory.base)
        }
    }
}

extension ArrayReference {
    fileprivate init(
        _ buffer: any MTLBuffer, byteOffset: Int, scalarType: ScalarType, shape: [Int], strides: [Int],
        interleave: NDArray.InterleaveLayout?
    ) {
        self.init(
            bytes: buffer.contents(), byteCount: buffer.length, byteOffset: byteOffset, scalarType: scalarType,
            shape: shape, strides: strides, interleave: interleave, owner: buffer)
    }
}
