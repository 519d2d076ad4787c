// Graphs made from seeds, on the processor's backend and on the reference: the answers must agree.
//
//     LoweringFuzzWorker FIRST COUNT [print]
//
// A process of its own, so that a trap names its seed: the seed under way is printed before it is tried. With `print`, the
// graphs are printed too. The last line counts the ops that were compared.

import CoreAIBackend
import CoreAIGraph
import CoreAITestSupport
import Foundation
import OpenBLASBackend
import ReferenceBackend

let arguments = CommandLine.arguments
guard (3...4).contains(arguments.count), let first = Int(arguments[1]), let count = Int(arguments[2]) else {
    print("usage: LoweringFuzzWorker FIRST COUNT [print]")
    exit(64)
}
let reference = try TestUnits("reference", [ReferenceBackend()])
let subject = try TestUnits("openblas", [OpenBLASBackend(), ReferenceBackend()])

/// Unbuffered: what was said last must be seen when the process traps.
func say(_ line: String) { FileHandle.standardOutput.write(Data((line + "\n").utf8)) }

/// What the reference makes of the same graph when every number in it is slightly off.
func disturbed(_ graph: Graph, _ inputs: [TestTensor], _ seed: Int) -> [[TestTensor]] {
    (0..<4).compactMap { turn in
        var random = Random(seed: UInt64(seed * 4 + turn))
        var graph = graph
        for index in graph.ops.indices where graph.ops[index].isConstant {
            guard let type = graph[graph.ops[index].results[0]].type.tensor, let shape = type.staticShape,
                case .elements(let constant)? = graph.ops[index][attribute: "value"]
            else { continue }
            let moved = TestTensor(type.scalar, shape, bytes: constant.bytes).disturbed(&random)
            graph.ops[index][attribute: "value"] = .elements(Constant(moved.bytes))
        }
        return try? reference.run(graph, inputs.map { $0.disturbed(&random) }).outputs
    }
}

/// The same graph's inputs with other sizes where the graph leaves them open.
func resized(_ graph: Graph, _ inputs: [TestTensor], _ random: inout Random) -> [TestTensor] {
    var sizes: [Int: Int] = [:]
    return zip(graph.inputs, inputs).map { port, tensor in
        guard let type = graph[port.value].type.tensor else { return tensor }
        let shape = zip(type.shape, tensor.shape).map { size, number -> Int in
            guard size.constant == nil else { return number }
            let new = sizes[number] ?? (random.chance(10) ? random.below(2) : max(0, number + random.below(5) - 1))
            sizes[number] = new
            return new
        }
        guard shape != tensor.shape, var draft = Optional(Draft(seed: Int(random.next() >> 8))) else { return tensor }
        draft.mayBeWild = false
        guard let value = try? draft.input(shape, tensor.scalar) else { return tensor }
        return draft.testTensor(value)
    }
}

extension Draft {
    func testTensor(_ value: ValueID) -> TestTensor {
        tensors[value].map { TestTensor($0) } ?? TestTensor(.float32, [0])
    }
}

func fault(_ seed: Int) -> (fault: String?, ops: Int) {
    var draft = Draft(seed: seed)
    draft.write()
    let graph = draft.graph
    guard !graph.outputs.isEmpty else { return (nil, 0) }
    if arguments.count == 4 { say(graph.text(constantLimit: 64)) }
    var inputs = draft.inputs.map(draft.testTensor)
    let expected: TestUnits.Prepared
    do { expected = try reference.prepare(graph) } catch {
        if arguments.count == 4 { say("the reference refuses: \(error)") }
        return (nil, 0)
    }
    let found: TestUnits.Prepared
    do { found = try subject.prepare(graph) } catch { return ("cannot be loaded: \(error)", 0) }
    for turn in 0..<(draft.isDynamic ? 4 : 1) {
        if turn > 0 { inputs = resized(graph, draft.inputs.map(draft.testTensor), &draft.random) }
        let wanted: [TestTensor]
        do { wanted = try expected.run(inputs) } catch {
            if arguments.count == 4 { say("the reference fails: \(error)") }
            continue
        }
        do {
            let got = try found.run(inputs)
            let words = "\(turn > 0 ? "with inputs \(inputs.map(\.shape)): " : "")"
            guard Allowance(wanted).difference(got, wanted) != nil else { continue }
            let allowance = Allowance(wanted, disturbed: disturbed(graph, inputs, seed))
            if let difference = allowance.difference(got, wanted) { return (words + difference, draft.operationCount) }
        } catch {
            return ("refused with inputs \(inputs.map(\.shape)): \(error)", draft.operationCount)
        }
    }
    return (nil, draft.operationCount)
}

var operations = 0
for seed in first..<first + count {
    say("seed \(seed)")
    let (words, ops) = fault(seed)
    operations += ops
    if let words { say("fault: seed \(seed): \(words)") }
}
say("compared \(operations) ops")
