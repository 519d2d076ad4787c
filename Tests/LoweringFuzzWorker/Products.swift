import CoreAIGraph

extension Draft {
    /// Matrix products with constants and between tensors, seen through what moves them.
    mutating func products() throws {
        let sizes = [0, 1, 1, 2, 3, 5, 8, 16, 17, 31, 33, 48, 64]
        func positive() -> [Int] { sizes.filter { $0 > 0 } }
        var (m, k, n) = (
            random.pick(random.chance(90) ? positive() : sizes), random.pick(random.chance(95) ? positive() : sizes),
            random.pick(random.chance(95) ? positive() : sizes)
        )
        let isLarge = random.chance(6)
        if isLarge { (m, k, n) = (m + random.below(200), k + random.below(100), n + random.below(150)) }
        let batch = random.pick([[], [], [1], [2], [3], [2, 2], [1, 3], random.chance(20) ? [0] : [4]])
        var a = try moved(batch + [m, k])
        if random.chance(30) { a = try chain(a, length: 1 + random.below(3)) }
        let b: ValueID
        switch random.below(6) {
        case 0, 1: b = try weights(random.pick([[], [], [1], [1, 1]]) + [k, n])
        case 2:
            let stored = try weights(random.pick([[], [1]]) + [n, k])
            b = try transpose(stored, rank(stored) == 2 ? [1, 0] : [0, 2, 1])
        case 3: b = try weights(batch + [k, n])
        default: b = try moved(random.pick([batch, batch.map { random.chance(30) ? 1 : $0 }, []]) + [k, n])
        }
        var y = try matmul(a, b)
        if random.chance(50) { y = try chain(y, length: 1 + random.below(5)) }
        if random.chance(40) {
            var order = random.shuffled(Array(0..<rank(y)))
            if random.chance(50), rank(y) > 2 { order = random.shuffled(Array(0..<rank(y) - 1)) + [rank(y) - 1] }
            y = try transpose(y, order)
        }
        if random.chance(30), let width = shape(y).last {
            y = try matmul(y, try weights([width, random.pick([1, 4, 20])]))
        }
        if random.chance(30) { _ = try chain(y, length: 2) }
    }

    /// A tensor of a shape, reached through ops that only move.
    mutating func moved(_ shape: [Int]) throws -> ValueID {
        switch random.below(9) {
        case 0, 1:
            let order = random.shuffled(Array(shape.indices))
            var source = shape
            for (axis, from) in order.enumerated() { source[from] = shape[axis] }
            return try transpose(try moved(source), order)
        case 2:
            let (start, after) = (shape.map { _ in random.below(3) }, shape.map { _ in random.below(3) })
            let source = try input(zip(shape, zip(start, after)).map { $0 + $1.0 + $1.1 })
            return try slice(source, start, zip(start, shape).map { $0 + $1 })
        case 3:
            let source = shape.map { random.chance(30) ? 1 : $0 }
            let axes = shape.indices.filter { source[$0] == 1 }
            guard !axes.isEmpty, random.chance(60) else {
                return try op("primitive.broadcast_to_v1", [try input(source), try numbers(shape)])
            }
            return try op(
                "primitive.broadcast_in_dims_v1",
                [try input(source), try numbers(axes.map { shape[$0] }), try numbers(axes)])
        case 4:
            let total = shape.reduce(1, *)
            let factor = random.pick([1, 2, 3, 4].filter { total % $0 == 0 })
            return try reshape(
                try input(
                    random.pick([
                        [total], [factor, total / factor], [total / factor, factor], [total / factor, 1, factor],
                    ])), shape)
        case 5:
            // Two axes merged, as heads are.
            guard let last = shape.last, let heads = [2, 4, 3].first(where: { last % $0 == 0 }), shape.count >= 2,
                last > 0
            else { return try input(shape) }
            let lead = Array(shape.dropLast(2))
            let source = try input(lead + [heads, shape[shape.count - 2], last / heads])
            let order = Array(lead.indices) + [lead.count + 1, lead.count, lead.count + 2]
            return try reshape(try transpose(source, order), shape)
        case 6 where !shape.contains(0):
            let source = try input([2] + shape)
            let picked = random.below(2)
            return try op("primitive.gather_nd_v1", [source, try constant([1], .int32) { _, _ in Double(picked) }])
        default: return try input(shape)
        }
    }

    /// Attention as exporters write it, and near misses.
    mutating func attention() throws {
        if random.chance(70) { scalar = .float32 }
        let batch = random.pick([1, 1, 2, 3])
        let heads = random.pick([1, 2, 3, 4])
        let (queries, keys) = (random.pick([1, 2, 5, 8, 17, 33]), random.pick([1, 3, 8, 16, 19, 40]))
        let depth = random.pick([1, 4, 8, 16, 20, 32])
        let valueDepth = random.chance(80) ? depth : random.pick([1, 8, 24])
        var q = try headed(batch, heads, queries, depth)
        var k = try headed(batch, heads, keys, depth)
        let v = try headed(batch, heads, keys, valueDepth)
        if random.chance(10) { k = try chain(k, length: 1) }
        let scale = 1 / Double(depth).squareRoot()
        let scaling = random.below(5)
        if scaling == 0 { q = try binary("mul", q, try scalarConstant(scale)) }
        if scaling == 4 { k = try binary("mul", k, try scalarConstant(scale)) }
        let turned: ValueID
        if random.chance(75) {
            turned = try transpose(k, [0, 1, 3, 2])
        } else {
            turned = try input([batch, heads, depth, keys])
        }
        var scores = try matmul(q, turned)
        if scaling == 1 { scores = try binary("mul", scores, try scalarConstant(scale)) }
        if scaling == 2 { scores = try binary("divide", scores, try scalarConstant(1 / scale)) }
        if random.chance(50) {
            let mask = random.pick([
                [1, 1, queries, keys], [batch, 1, queries, keys], [batch, 1, 1, keys], [queries, keys], [keys],
                [batch, heads, queries, keys], [1, heads, 1, keys], [1, 1, queries, 1], [1], [],
            ])
            let value = random.pick([-Double.infinity, -10000, -1, -3.4028234663852886e38])
            let added =
                random.chance(50)
                ? try constant(mask) { random, index in random.chance(30) && index > 0 ? value : 0 }
                : try input(mask)
            scores = random.chance(80) ? try binary("add", scores, added) : try binary("add", added, scores)
        }
        let weights = try softmax(scores, random.chance(92) ? random.pick([-1, 3]) : 2)
        if random.chance(8) { _ = try chain(weights, length: 1) }
        var y = try matmul(weights, v)
        if random.chance(70) {
            y = try transpose(y, random.chance(85) ? [0, 2, 1, 3] : random.shuffled([0, 1, 2, 3]))
            if random.chance(80) {
                let s = shape(y)
                y = try reshape(y, [s[0], s[1], s[2] * s[3]])
                if random.chance(50) { y = try matmul(y, try self.weights([s[2] * s[3], 12])) }
            }
        }
        if random.chance(30) { _ = try chain(y, length: 2) }
    }

    /// [batch, heads, count, depth] from tokens, from tokens of several kinds, or as it is.
    private mutating func headed(_ batch: Int, _ heads: Int, _ count: Int, _ depth: Int) throws -> ValueID {
        switch random.below(6) {
        case 0, 1:
            let tokens = try input([batch, count, heads * depth])
            return try transpose(try reshape(tokens, [batch, count, heads, depth]), [0, 2, 1, 3])
        case 2:
            // Queries, keys and values side by side.
            let all = try reshape(try input([batch, count, 3 * heads * depth]), [batch, count, 3, heads, depth])
            let part = random.below(3)
            let one = try slice(all, [0, 0, part, 0, 0], [batch, count, part + 1, heads, depth])
            return try transpose(try reshape(one, [batch, count, heads, depth]), [0, 2, 1, 3])
        case 3:
            let all = try transpose(
                try reshape(try input([batch, count, 3 * heads * depth]), [batch, count, 3, heads, depth]),
                [2, 0, 3, 1, 4])
            let part = random.below(3)
            return try op("primitive.gather_nd_v1", [all, try constant([1], .int32) { _, _ in Double(part) }])
        case 4:
            // Fewer heads, each for several.
            guard heads % 2 == 0 else { return try input([batch, heads, count, depth]) }
            let few = try input([batch, heads / 2, count, depth])
            let more = try op(
                "primitive.broadcast_in_dims_v1",
                [try reshape(few, [batch, heads / 2, 1, count, depth]), try numbers([2]), try numbers([2])])
            return try reshape(more, [batch, heads, count, depth])
        default: return try input([batch, heads, count, depth])
        }
    }

    /// Normalizations as exporters spell them, and near misses.
    mutating func normalizations() throws {
        if random.chance(80) { scalar = .float32 }
        let width = random.pick([1, 3, 8, 16, 31, 64, 100])
        let lead = random.pick([[], [1], [3], [2, 5], [1, 17], [2, 3, 4], random.chance(10) ? [0] : [7]])
        var x = try input(lead + [width])
        for _ in 0...random.below(2) {
            let axis = random.chance(92) ? -1 : random.below(rank(x))
            let isLayer = random.chance(60)
            var centred = x
            if isLayer { centred = try binary("sub", x, try reduce("mean", x, [axis])) }
            let square = random.pick([0, 1, 2])
            let squares =
                square == 0
                ? try binary("pow", centred, try scalarConstant(random.chance(95) ? 2 : 3))
                : try binary("mul", centred, random.chance(95) ? centred : x)
            let mean = try reduce(random.chance(95) ? "mean" : "sum", squares, [axis])
            let sum =
                random.chance(93)
                ? try binary("add", mean, try scalarConstant(random.pick([1e-5, 1e-6, 1e-12, 0.1]))) : mean
            var y: ValueID
            switch random.below(4) {
            case 0: y = try binary("divide", centred, try unary("sqrt", sum))
            case 1: y = try binary("mul", centred, try binary("divide", try scalarConstant(1), try unary("sqrt", sum)))
            case 2: y = try binary("mul", try unary("rsqrt", sum), centred)
            default: y = try binary("mul", centred, try unary("rsqrt", sum))
            }
            let shapes = [
                [width], [width], [1, width], Array(repeating: 1, count: rank(x) - 1) + [width], [1], lead + [1],
            ]
            if random.chance(80) {
                y = try binary(
                    "mul", y,
                    random.chance(95)
                        ? try constant(random.pick(shapes)) { random, _ in random.number() } : try input([width]))
            }
            if random.chance(60) {
                y = try binary("add", y, try constant(random.pick(shapes)) { random, _ in random.number() })
            }
            if random.chance(10) { _ = try chain(centred, length: 1) }
            if random.chance(30) { y = try chain(y, length: 2) }
            if random.chance(30) { y = try binary("add", y, x) }
            x = y
        }
        if random.chance(40), let width = shape(x).last, rank(x) >= 2 {
            _ = try chain(try matmul(x, try weights([width, 9])), length: 2)
        }
    }

    /// Ops that move, reduce and scan, of any rank, with sizes that the data decide now and then.
    mutating func movements() throws {
        let rank = random.below(6)
        let given = (0..<rank).map { _ in random.chance(4) ? 0 : 1 + random.below(6) }
        if random.chance(30) { scalar = random.pick([.float32, .int32, .bool, .int64, .int8, .float16]) }
        var x = try moved(given)
        if random.chance(25) {
            let found = try op(
                "primitive.non_zero_v1", [random.chance(50) ? x : try binary("greater", x, try scalarConstant(0))])
            let picked = try op("primitive.gather_nd_v1", [x, found])
            x = picked
            if random.chance(60), scalar.isFloat {
                _ = try matmul(try op("primitive.expand_dims_v1", [picked, try numbers([1])]), try weights([1, 8]))
            }
        }
        for _ in 0..<1 + random.below(8) {
            guard let next = try? movement(x) else { continue }
            x = next
        }
    }

    private mutating func movement(_ x: ValueID) throws -> ValueID {
        let sizes = shape(x)
        switch random.below(16) {
        case 0, 1: return try transpose(x, random.shuffled(Array(sizes.indices)))
        case 2: return try randomSlice(x)
        case 3: return try pad(x, sizes.flatMap { _ in [random.below(3), random.below(2)] }, Double(random.below(2)))
        case 4: return try concat(random.below(sizes.count), Array(repeating: x, count: 1 + random.below(3)))
        case 5 where scalar(x).isFloat: return try softmax(x, random.below(sizes.count))
        case 6, 7:
            let axes = sizes.indices.filter { _ in random.chance(50) }
            return try reduce(
                random.pick(["sum", "mean", "max", "min"]), x, axes.map { random.chance(50) ? $0 : $0 - sizes.count })
        case 8 where scalar(x).isFloat: return try chain(x, length: 1 + random.below(4))
        case 9: return try insertion(x)
        case 10: return try gather(x)
        case 11:
            let merged = sizes.reduce(1, *)
            let factor = random.pick([1, 2, 3, 4].filter { merged % $0 == 0 })
            return try reshape(
                x,
                random.pick([
                    [merged], [factor, merged / max(1, factor)], [merged / max(1, factor), factor], sizes + [1],
                    [1] + sizes,
                ]))
        case 13, 14:
            let start = sizes.map { random.below($0) }
            let steps = sizes.map { _ in random.pick([1, 1, 2]) }
            let counts = zip(sizes, zip(start, steps)).map { ($0 - $1.0 + $1.1 - 1) / $1.1 }
            let update = try input(counts, scalar(x))
            let bounds = [try numbers(start), try numbers(sizes), try numbers(steps)]
            return try op("primitive.slice_update_v1", [x] + bounds + [update])
        case 12: return try op("primitive.broadcast_to_v1", [x, try numbers([2] + sizes)])
        default: return try moved(sizes)
        }
    }

    /// The graph of a seed: as much of it as could be written down.
    mutating func write() {
        do {
            switch random.below(10) {
            case 0...3: try images()
            case 4, 5: try products()
            case 6: try attention()
            case 7: try normalizations()
            case 8: try movements()
            default:
                let sizes = (0..<random.below(5)).map { _ in 1 + random.below(7) }
                let x = try input(
                    random.chance(6) ? [1 + random.below(3), 30 + random.below(400), 100 + random.below(60)] : sizes)
                _ = try chain(x, length: 3 + random.below(14))
            }
        } catch {}
        chooseOutputs()
    }
}
