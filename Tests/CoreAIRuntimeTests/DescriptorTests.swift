import CoreAIRuntime
import Testing

@Suite struct DescriptorTests {
    @Test func dynamicSizesAreResolved() {
        let descriptor = NDArrayDescriptor(scalarType: .int32, shape: [1, -1])
        #expect(descriptor.hasDynamicShape && descriptor.rank == 2)
        let resolved = descriptor.resolvingDynamicDimensions([1, 5])
        #expect(resolved.shape == [1, 5] && !resolved.hasDynamicShape)
        #expect(resolved.preferredStrides == [5, 1])
        #expect(resolved.minimumByteCount == 20)
        #expect(descriptor.resolvingDynamicDimensions([1, 0]).minimumByteCount == 0)
        #expect(resolved == NDArrayDescriptor(scalarType: .int32, shape: [1, 5]))
        #expect(NDArray(descriptor: resolved).shape == [1, 5])
    }

    @Test func staticSizesCannotBeReplaced() async {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            _ = NDArrayDescriptor(scalarType: .int32, shape: [1, -1]).resolvingDynamicDimensions([2, 5])
        }
        let text = String(decoding: result?.standardErrorContent ?? [], as: UTF8.self)
        #expect(text.contains("shape at dimension 0 (2) is not a valid substitution"))
        await #expect(processExitsWith: .failure) {
            _ = NDArrayDescriptor(scalarType: .int32, shape: [-1]).resolvingDynamicDimensions([-1])
        }
        await #expect(processExitsWith: .failure) {
            _ = NDArrayDescriptor(scalarType: .int32, shape: [-1]).minimumByteCount
        }
        await #expect(processExitsWith: .failure) {
            _ = NDArray(descriptor: NDArrayDescriptor(scalarType: .int32, shape: [-1]))
        }
    }

    @Test func subByteRowsFillBytes() {
        let descriptor = NDArrayDescriptor(scalarType: .int4, shape: [2, 3])
        #expect(descriptor.minimumByteCount == 4)
        #expect(NDArrayDescriptor(scalarType: .uint1, shape: [9]).minimumByteCount == 2)
    }

    @Test func paddedDescriptorMakesPaddedArrays() {
        let descriptor = NDArrayDescriptor(scalarType: .float32, shape: [2, 3], preferredStrides: [16, 1])
        #expect(NDArray(descriptor: descriptor).strides == [16, 1])
        let array = NDArray(descriptor: descriptor)
        #expect(contiguousCount(array.view(as: Float.self)) == nil)
        #expect(descriptor.minimumByteCount == 19 * 4)
    }

    @Test func interleavedDescriptorPadsToWholeBlocks() {
        let descriptor = NDArrayDescriptor(
            scalarType: .float16, shape: [3, 2, 2], interleaveLayout: NDArray.InterleaveLayout(dimension: 0, factor: 4))
        #expect(descriptor.preferredStrides == [16, 8, 4])
        #expect(descriptor.minimumByteCount == 16 * 2)
        #expect(NDArray(descriptor: descriptor).interleaveLayout == descriptor.interleaveLayout)
    }

    @Test func namesKeepTheProgramsOrder() {
        let f = InferenceValue.Descriptor.ndArray(NDArrayDescriptor(scalarType: .float32, shape: []))
        let descriptor = InferenceFunctionDescriptor(
            name: "main", inputs: [("z", f), ("a", f)], states: [("values", f), ("keys", f)], outputs: [("y", f)])
        #expect(descriptor.inputNames == ["z", "a"] && descriptor.stateNames == ["values", "keys"])
        #expect(descriptor.inputCount == 2 && descriptor.outputCount == 1)
        #expect(descriptor.inputDescriptor(of: "y") == nil)
        #expect(descriptor.outputDescriptor(of: "y") != nil && descriptor.stateDescriptor(of: "keys") != nil)
    }
}
