package import CoreAIGraph
package import CoreAIOps

/// One op that a backend has a kernel for. The claim lives beside the kernel, so that the two cannot drift apart.
package struct KernelClaim: Sendable {
    package var names: Set<String>
    /// A reason not to take this op with these types, or nil.
    package var accepts: @Sendable (Op, _ operands: [TensorType], _ results: [TensorType]) -> Rejection?
    /// The kernel for an op whose constant operands are given; it may keep a form of them that suits it.
    package var makeKernel: @Sendable (_ constants: [HostTensor?]) -> ReferenceKernel

    package init(
        _ names: Set<String>, accepts: @escaping @Sendable (Op, [TensorType], [TensorType]) -> Rejection?,
        makeKernel: @escaping @Sendable (_ constants: [HostTensor?]) -> ReferenceKernel
    ) {
        self.names = names
        self.accepts = accepts
        self.makeKernel = makeKernel
    }
}
