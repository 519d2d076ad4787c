import CKernels
import CoreAIBackend
import CoreAIGraph
import CoreAIOps

/// Pointwise ops computed in one pass.
enum ChainStep {
    private static let elementsWorthSharing = 32_768

    static func make(_ op: Op, _ kernel: ChainKernel, result: ValueID, names: [String]) -> HostStep {
        HostStep(
            op, name: names.joined(separator: " + "), operands: kernel.operands, results: [result]
        ) { (shapes) throws(BackendError) in
            let chain = try kernel.prepared(kernel.operands.map { shapes[$0] }, result: shapes[result])
            let operands = kernel.operands
            let work = chain.count * kernel.stepCount
            let parts =
                chain.count == 0
                ? 0 : work < elementsWorthSharing * 2 ? 1 : min(WorkerPool.shared.width * 4, chain.count / 4096 + 1)
            return HostCall { memory in
                withUnsafeTemporaryAllocation(of: UnsafeRawPointer.self, capacity: max(1, operands.count)) { list in
                    guard let addresses = list.baseAddress else { return }
                    for (index, value) in operands.enumerated() { addresses[index] = UnsafeRawPointer(memory[value]) }
                    let target = memory[result]
                    if WorkerPool.shared.width == 1 || parts <= 1 {
                        chain.run(addresses, target, 0..<chain.count)
                    } else {
                        inParts(parts) { chain.run(addresses, target, share(chain.count, $0, of: parts)) }
                    }
                }
            }
        }
    }
}
