extension InferenceFunction {
    /// What a function reads, by name.
    public struct Inputs: ~Escapable {
        private(set) var arguments: [String: Argument] = [:]

        @_lifetime(immortal) public init() {}

        /// A second value for a name replaces the first.
        @_lifetime(self: copy self)
        public mutating func insert(
            _ value: borrowing some InferenceValue.ViewRepresentable & ~Copyable, for inputName: String
        ) {
            let view = value.view()
            arguments[inputName] = view.argument
        }

        @_lifetime(self: copy self)
        public mutating func insert(_ rawView: consuming NDArray.RawView, for inputName: String) {
            arguments[inputName] = .array(rawView.reference)
        }

        @_lifetime(self: copy self)
        public mutating func insert<Element>(_ view: consuming NDArray.View<Element>, for inputName: String)
        where Element: BitwiseCopyable {
            arguments[inputName] = .array(view.reference)
        }
    }

    /// What a function writes, by name: states, or places for outputs.
    public struct MutableViews: ~Copyable, ~Escapable {
        private(set) var arguments: [String: Argument] = [:]

        @_lifetime(immortal) public init() {}

        /// A second value for a name replaces the first.
        @_lifetime(self: copy self)
        public mutating func insert(
            _ value: inout some InferenceValue.MutableViewRepresentable & ~Copyable, for name: String
        ) {
            let view = value.mutableView()
            arguments[name] = view.argument
        }

        @_lifetime(self: copy self)
        public mutating func insert(_ mutableRawView: consuming NDArray.MutableRawView, for name: String) {
            arguments[name] = .array(mutableRawView.reference)
        }

        @_lifetime(self: copy self)
        public mutating func insert<Element>(_ mutableView: consuming NDArray.MutableView<Element>, for name: String)
        where Element: BitwiseCopyable {
            arguments[name] = .array(mutableView.reference)
        }
    }

    /// What a run computed, without the outputs that were written to views. Each can be taken once.
    public struct Outputs: ~Copyable {
        private var values: [(name: String, content: InferenceValue.Content)]

        init(_ values: [(name: String, content: InferenceValue.Content)]) { self.values = values }

        public var count: Int { values.count }
        /// In the program's order.
        public var names: some Collection<String> { values.map(\.name) }

        /// The output of that name, or nil if there is none or it was removed before.
        public mutating func remove(_ outputName: String) -> InferenceValue? {
            guard let index = values.firstIndex(where: { $0.name == outputName }) else { return nil }
            return InferenceValue(content: values.remove(at: index).content)
        }
    }
}
