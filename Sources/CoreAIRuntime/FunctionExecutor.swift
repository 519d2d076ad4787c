package import CoreAIGraph
package import CoreAIOps

/// What `InferenceFunction` needs from whoever computes: one synchronous run on the caller's thread.
///
/// All tensors are dense and row-major in the form kernels use (`HostTensor`); packing and unpacking of strided,
/// interleaved or sub-byte arrays is `InferenceFunction`'s business, and so is checking names, types and static sizes.
package protocol FunctionExecutor: AnyObject, Sendable {
    var descriptor: InferenceFunctionDescriptor { get }
    /// How many plans its runs have needed so far: one, unless sizes of 1 changed what broadcasts mean.
    var planCount: Int { get }
    /// The last run took little more time than to hand it to another thread and back, and the next does the same work, so
    /// it may run where it is asked for.
    var isBrief: Bool { get }
    var kernelCalls: [KernelCall] { get }

    /// - Parameters:
    ///   - inputs: in the descriptor's order.
    ///   - states: in the descriptor's order; updated in place.
    ///   - output: called for each output when its shape is known, in any order; returns where to write it. A run that
    ///     has to be planned anew may ask again.
    ///   - isCancelled: looked at between steps, and by streams that watch it, between kernel calls.
    /// - Throws: `CancellationError`, `RunError` (sizes that must agree and do not), `BackendError`.
    func run(
        inputs: [HostTensor], states: [HostTensor],
        output: (_ index: Int, _ shape: [Int]) throws -> HostTensor,
        isCancelled: () -> Bool
    ) throws
}

/// One kernel call of a segment that runs on the host.
package struct KernelCall: Sendable {
    package var segment: Int
    package var name: String
    /// The type of what it computes, as it lies in memory.
    package var result: String
    package var location: SourceLocation?
}

extension FunctionExecutor {
    /// The kernel calls of the function's segments, in order, as far as their backends tell.
    package var kernelCalls: [KernelCall] { [] }
    package var planCount: Int { 1 }
    package var isBrief: Bool { false }
}
