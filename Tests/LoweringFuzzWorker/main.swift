// Graphs made from seeds, on the processor's backend and on the reference: the answers must agree.
//
//     LoweringFuzzWorker FIRST COUNT [print | steps]
//     LoweringFuzzWorker GRAPH
//
// The second form runs the graph whose text form a file holds, on ones, and says what came of it.
//
// A process of its own, so that a trap names its seed: the seed under way is printed before it is tried. With `print`, the
// graphs are printed too; with `steps`, the kernel calls of all graphs at the end. The last line counts the ops compared.

import CoreAIBackend
import CoreAIGraph
import CoreAIOps
import CoreAITestSupport
import Foundation
import OpenBLASBackend
import ReferenceBackend

let arguments = CommandLine.arguments
if arguments.count == 2 {
    try answer(arguments[1])
    exit(0)
}
guard (3...4).contains(arguments.count), let first = Int(arguments[1]), let count = Int(arguments[2]) else {
    print("usage: LoweringFuzzWorker FIRST COUNT [print | steps]")
    exit(64)
}
let isPrinting = arguments.last == "print"
if arguments.last == "steps" { HostProfile.shared.start() }
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

private func hasSteps(_ graph: Graph) -> Bool {
    graph.ops.contains { op in ["round", "modulo", "greater", "equal", "cast"].contains { op.name.contains($0) } }
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

/// Runs a graph from a file on the processor's backend.
func answer(_ file: String) throws {
    let graph = try Graph(parsing: String(contentsOfFile: file, encoding: .utf8))
    do {
        let subject = try TestUnits("openblas", [OpenBLASBackend(), ReferenceBackend()])
        let prepared = try subject.prepare(graph)
        let inputs = graph.inputs.compactMap { port -> TestTensor? in
            guard let type = graph[port.value].type.tensor else { return nil }
            let tensor = TestTensor(type.scalar, type.shape.map { $0.constant ?? 4 })
            let codec = ElementCodec(type.scalar)
            for index in 0..<tensor.host.count { codec.store(1, tensor.host, index) }
            return tensor
        }
        let outputs = try prepared.run(inputs)
        print("answers \(outputs.map { "\($0.scalar)\($0.shape) \($0.doubles.prefix(4))" })")
    } catch {
        print("refuses: \(error)")
    }
}

func fault(_ seed: Int) -> (fault: String?, ops: Int) {
    var draft = Draft(seed: seed)
    draft.write()
    let graph = draft.graph
    guard !graph.outputs.isEmpty else { return (nil, 0) }
    if isPrinting { say(graph.text(constantLimit: 64)) }
    var inputs = draft.inputs.map(draft.testTensor)
    let expected: TestUnits.Prepared
    do { expected = try reference.prepare(graph) } catch {
        if isPrinting { say("the reference refuses: \(error)") }
        return (nil, 0)
    }
    let found: TestUnits.Prepared
    do { found = try subject.prepare(graph) } catch { return ("cannot be loaded: \(error)", 0) }
    let unit = graph.values.compactMap { $0.type.tensor?.scalar.unit }.max() ?? 0
    for turn in 0..<(draft.isDynamic ? 4 : 1) {
        if turn > 0 { inputs = resized(graph, draft.inputs.map(draft.testTensor), &draft.random) }
        let wanted: [TestTensor]
        do { wanted = try expected.run(inputs) } catch {
            if isPrinting { say("the reference fails: \(error)") }
            continue
        }
        do {
            let got = try found.run(inputs)
            let words = "\(turn > 0 ? "with inputs \(inputs.map(\.shape)): " : "")"
            guard Allowance(wanted, unit: unit).difference(got, wanted) != nil else { continue }
            let allowance = Allowance(wanted, unit: unit, disturbed: disturbed(graph, inputs, seed))
            if let difference = allowance.difference(got, wanted, straysAreFine: hasSteps(graph)) {
                return (words + difference, draft.operationCount)
            }
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
if arguments.last == "steps" {
    let calls = HostProfile.shared.stop().reduce(into: [String: Int]()) { $0[$1.name, default: 0] += $1.calls }
    for (name, count) in calls.sorted(by: { $0.value > $1.value }) { say("\(count) \(name)") }
}
say("compared \(operations) ops")
