/// One value that goes into or comes out of a function: an array or an image.
public struct InferenceValue: ~Copyable {
    enum Content: Sendable {
        case ndArray(NDArray)
        case image(PixelMemory)
    }
    let content: Content

    init(content: Content) { self.content = content }

    public init(_ pixelBuffer: consuming CVMutablePixelBuffer) { content = .image(pixelBuffer.pixels) }

    package init(_ ndArray: NDArray) { content = .ndArray(ndArray) }

    /// The array, or nil for an image.
    public var ndArray: NDArray? {
        if case .ndArray(let array) = content { array } else { nil }
    }

    /// The image, or nil for an array.
    public var pixelBuffer: CVMutablePixelBuffer? {
        if case .image(let pixels) = content { CVMutablePixelBuffer(pixels) } else { nil }
    }

    public var kind: Kind { content.kind }

    public enum Descriptor: Sendable {
        case ndArray(NDArrayDescriptor)
        case image(ImageDescriptor)
    }

    public enum Kind: Sendable, Hashable { case ndArray, image }

    /// Something to read, of either kind.
    public struct View: ~Escapable {
        let argument: Argument
        @_lifetime(immortal) init(_ argument: Argument) { self.argument = argument }
    }

    /// Something to write, of either kind.
    public struct MutableView: ~Copyable, ~Escapable {
        let argument: Argument
        @_lifetime(immortal) init(_ argument: Argument) { self.argument = argument }
    }

    /// Views by name, each of which can be taken once.
    public struct NamedMutableViews: ~Copyable, ~Escapable {
        private var views: [String: Argument?]
        @_lifetime(immortal) init(_ views: [String: Argument]) { self.views = views.mapValues { $0 } }

        /// The view of that name, or nil if there is none. Traps when it was taken before.
        @_lifetime(copy self)
        public mutating func take(_ valueName: String) -> MutableView? {
            guard let entry = views[valueName] else { return nil }
            guard let argument = entry else { fatalError("InferenceValue: view '\(valueName)' was taken before") }
            views.updateValue(nil, forKey: valueName)
            return _overrideLifetime(MutableView(argument), copying: self)
        }
    }

    public protocol ViewRepresentable: ~Copyable {
        @_lifetime(immortal) func view() -> View
    }

    public protocol MutableViewRepresentable: ~Copyable {
        @_lifetime(immortal) mutating func mutableView() -> MutableView
    }
}

extension InferenceValue.Content {
    var kind: InferenceValue.Kind {
        switch self {
        case .ndArray: .ndArray
        case .image: .image
        }
    }
}

/// What a caller passed under a name.
enum Argument: Sendable {
    case array(ArrayReference)
    case image(PixelMemory)
}

extension NDArray: InferenceValue.ViewRepresentable, InferenceValue.MutableViewRepresentable {
    @_lifetime(immortal) public func view() -> InferenceValue.View { InferenceValue.View(.array(reference)) }
    @_lifetime(immortal) public mutating func mutableView() -> InferenceValue.MutableView {
        InferenceValue.MutableView(.array(mutableReference))
    }
}

extension CVMutablePixelBuffer: InferenceValue.ViewRepresentable, InferenceValue.MutableViewRepresentable {
    @_lifetime(immortal) public func view() -> InferenceValue.View { InferenceValue.View(.image(pixels)) }
    @_lifetime(immortal) public mutating func mutableView() -> InferenceValue.MutableView {
        InferenceValue.MutableView(.image(pixels))
    }
}

extension CVReadOnlyPixelBuffer: InferenceValue.ViewRepresentable {
    @_lifetime(immortal) public func view() -> InferenceValue.View { InferenceValue.View(.image(pixels)) }
}
