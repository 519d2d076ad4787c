import CoreAIGraph

extension Draft {
    mutating func convolve(_ x: ValueID) throws -> ValueID {
        var x = x
        var shape = shape(x)
        guard shape.count == 4 else { throw Refused() }
        var kernel = [random.pick([1, 1, 3, 3, 2, 5, 4]), random.pick([1, 1, 3, 3, 2, 5, 4])]
        if random.chance(60) { kernel[1] = kernel[0] }
        var strides = random.chance(60) ? [1, 1] : [1 + random.below(3), 1 + random.below(3)]
        var dilations = random.chance(80) ? [1, 1] : [1 + random.below(3), 1 + random.below(2)]
        if random.chance(25) { (kernel, strides, dilations) = ([3, 3], [1, 1], [1, 1]) }
        if random.chance(60) {
            let border = kernel[0] / 2 * dilations[0]
            let pads =
                random.chance(70)
                ? [border, border, kernel[1] / 2 * dilations[1], kernel[1] / 2 * dilations[1]]
                : (0..<4).map { _ in random.below(4) }
            x = try pad(x, [0, 0, 0, 0] + pads, random.chance(85) ? 0 : random.pick([1, -0.5, -0.0]))
            shape = self.shape(x)
        }
        let channels = shape[1]
        var groups = 1
        var outputs = random.pick([1, 2, 3, 4, 7, 8, 12, 16, 17, 24, 32, 40])
        if random.chance(30), channels > 0 {
            groups = random.chance(60) ? channels : random.pick((1...channels).filter { channels % $0 == 0 })
            outputs = groups * random.pick([1, 1, 2, 3])
        }
        guard groups > 0, outputs < 80 else { throw Refused() }
        // Winograd's sums spread what is not finite.
        if kernel == [3, 3], channels >= 16, outputs >= 16, mayBeWild || !isFinite(x) { throw Refused() }
        let w =
            random.chance(97)
            ? try weights([outputs, channels / groups] + kernel) : try input([outputs, channels / groups] + kernel)
        return try op("primitive.conv2d_v1", [x, w, try numbers(strides), try numbers(dilations), try number(groups)])
    }

    /// What networks put behind a convolution: a shift and a scale for each channel, a residual, an activation.
    mutating func layer(_ x: ValueID, _ pool: [ValueID]) throws -> ValueID {
        var y = random.chance(85) ? try convolve(x) : try convolveTransposed(x)
        let channels = shape(y)[1]
        func perChannel(_ draft: inout Draft) throws -> ValueID {
            try draft.constant(draft.random.pick([[1, channels, 1, 1], [channels, 1, 1], []])) { random, _ in
                random.number()
            }
        }
        for _ in 0..<random.below(4) {
            y = try binary(random.pick(["add", "mul", "sub", "divide"]), y, try perChannel(&self))
        }
        let same = pool.filter { shape($0) == shape(y) && scalar($0) == scalar(y) }
        if random.chance(60), !same.isEmpty { y = try binary("add", y, random.pick(same)) }
        switch random.below(8) {
        case 0, 1: return try unary("relu", y)
        case 2: return try clamp(y, 0, 6)
        case 3: return try unary(random.pick(["silu", "sigmoid", "tanh"]), y)
        case 4, 5: return try chain(y, length: 1 + random.below(3))
        default: return y
        }
    }

    /// Large enough for sums of tiles.
    mutating func winograd() throws {
        mayBeWild = false
        let (channels, outputs) = (16 + random.below(20), 16 + random.below(30))
        let sizes =
            random.chance(60)
            ? [14 + random.below(6), 14 + random.below(6)] : [4 + random.below(5), 49 + random.below(10)]
        var pool = [try input([1 + random.below(2), channels] + sizes)]
        for turn in 0..<1 + random.below(2) {
            let border = (0..<4).map { _ in random.chance(85) ? 1 : random.below(3) }
            let x = random.chance(85) ? try pad(pool[turn], [0, 0, 0, 0] + border, 0) : pool[turn]
            let w = try weights([turn == 0 && random.chance(50) ? channels : outputs, shape(x)[1], 3, 3])
            var y = try op("primitive.conv2d_v1", [x, w, try numbers([1, 1]), try numbers([1, 1]), try number(1)])
            if random.chance(60) {
                y = try binary("add", y, try constant([1, shape(y)[1], 1, 1]) { random, _ in random.number() })
            }
            if random.chance(40), let same = pool.first(where: { shape($0) == shape(y) }) {
                y = try binary("add", y, same)
            }
            if random.chance(40) { y = try unary(random.pick(["relu", "silu"]), y) }
            pool.append(random.chance(50) ? try chain(y, length: 1 + random.below(4)) : y)
        }
    }

    mutating func convolveTransposed(_ x: ValueID) throws -> ValueID {
        let shape = shape(x)
        guard shape.count == 4 else { throw Refused() }
        var (kernel, strides) = (
            [1 + random.below(4), 1 + random.below(4)], [1 + random.below(3), 1 + random.below(3)]
        )
        var (pads, extra, dilations) = ([0, 0], [0, 0], [1, 1])
        if random.chance(50) {
            strides = kernel
        } else {
            pads = [random.below(2), random.below(2)]
            extra = [random.below(strides[0]), random.below(strides[1])]
            if random.chance(20) { dilations = [1 + random.below(2), 1 + random.below(3)] }
        }
        if random.chance(20) { (kernel, strides) = ([2, 2], [2, 2]) }
        let channels = shape[1]
        let groups = random.chance(90) || channels == 0 ? 1 : random.pick((1...channels).filter { channels % $0 == 0 })
        let w = try weights([channels, random.pick([1, 1, 2, 3, 8, 16, 17])] + kernel)
        return try op(
            "primitive.conv_transpose2d_v1",
            [
                x, w, try numbers(strides), try numbers(pads), try numbers(dilations), try numbers(extra),
                try number(groups),
            ])
    }

    mutating func pool(_ x: ValueID) throws -> ValueID {
        var x = x
        guard rank(x) == 4 else { throw Refused() }
        let isMaximum = random.chance(50)
        if random.chance(50) {
            let value =
                isMaximum
                ? random.pick([-Double.infinity, -Double.infinity, 0, -3.4028234663852886e38])
                : random.pick([0, 0, 0, 1])
            x = try pad(x, [0, 0, 0, 0] + (0..<4).map { _ in random.below(2) }, value)
        }
        let window = [
            try numbers([1 + random.below(3), 1 + random.below(3)]),
            try numbers([1 + random.below(3), 1 + random.below(2)]), try numbers(random.chance(80) ? [1, 1] : [2, 1]),
        ]
        if isMaximum {
            let isCeiling = random.chance(25)
            return try op(
                "primitive.max_pool_2d_v1", [x] + window + [try constant([], .bool) { _, _ in isCeiling ? 1 : 0 }])
        }
        let sum = try op("primitive.sum_pool_2d_v1", [x] + window)
        return random.chance(50) ? sum : try binary("mul", sum, try scalarConstant(0.25))
    }

    /// Images through everything that stands between convolutions.
    mutating func images() throws {
        if isDynamic, random.chance(50) { isDynamic = false }
        if random.chance(8) { return try winograd() }
        let channels = random.pick([1, 2, 3, 4, 8, 16, 17, 24, 32])
        var sizes =
            random.chance(70)
            ? [1 + random.below(10), 1 + random.below(10)] : [14 + random.below(5), 14 + random.below(6)]
        if random.chance(4) { sizes = [30 + random.below(30), 30 + random.below(30)] }
        let start = try input([random.pick([1, 1, 1, 2, 3, random.chance(10) ? 0 : 1]), channels] + sizes)
        var pool = [start]
        if random.chance(90) { pool.append(try convolve(start)) }
        for _ in 0..<2 + random.below(7) {
            let x = random.chance(75) ? pool[pool.count - 1] : random.pick(pool)
            pool.append((try? imageOp(x, pool)) ?? x)
        }
    }

    private mutating func imageOp(_ x: ValueID, _ pool: [ValueID]) throws -> ValueID {
        let sizes = shape(x)
        let choice = random.below(29)
        guard sizes.count == 4 || ![18, 19, 20, 25, 26, 27].contains(choice) else { throw Refused() }
        switch choice {
        case 0...3: return try layer(x, pool)
        case 4...7: return try chain(x, length: 1 + random.below(6))
        case 8: return try self.pool(x)
        case 9, 10:
            let same = pool.filter { shape($0) == sizes }
            let other = random.pick(same.isEmpty ? [x] : same)
            return try chain(try binary(random.pick(["add", "mul", "sub"]), x, other), length: random.below(3))
        case 11:
            return try concat(
                random.pick([1, 1, 1, -3, 0, 2, 3]),
                [x, random.pick(pool.filter { rank($0) == rank(x) && scalar($0) == scalar(x) }), x].shuffledPrefix(
                    &random))
        case 12: return try randomSlice(x)
        case 13: return try pad(x, sizes.flatMap { _ in [random.below(2), random.below(3)] }, random.pick([0, 0, 1]))
        case 14, 15:
            let axes = random.pick([[2, 3], [2, 3], [-1, -2], [1], [0], [1, 2, 3], [2], [3], [1, 3], [0, 2]])
            let reduced = try reduce(random.pick(["mean", "sum", "max", "min"]), x, axes)
            return random.chance(60)
                ? try binary("mul", x, try unary("sigmoid", random.chance(40) ? try convolve(reduced) : reduced))
                : reduced
        case 16: return try transpose(x, random.shuffled(Array(0..<sizes.count)))
        case 17: return try convolveTransposed(x)
        case 18:
            // Channels shuffled in groups.
            guard sizes.count == 4, sizes[1] % 2 == 0 else { throw Refused() }
            let split = try reshape(x, [sizes[0], 2, sizes[1] / 2, sizes[2], sizes[3]])
            return try reshape(try transpose(split, [0, 2, 1, 3, 4]), sizes)
        case 19:
            guard sizes[1] > 0 else { throw Refused() }
            let picks = (0..<1 + random.below(sizes[1] + 1)).map { _ in random.below(sizes[1]) }
            let turned = try transpose(x, [1, 0, 2, 3])
            let taken = try op(
                "primitive.gather_nd_v1",
                [turned, try constant([picks.count, 1], .int32) { _, index in Double(picks[index]) }])
            return try transpose(taken, [1, 0, 2, 3])
        case 20:
            // Leaves for tokens and a product.
            let tokens = try transpose(try reshape(x, [sizes[0], sizes[1], sizes[2] * sizes[3]]), [0, 2, 1])
            let product = try matmul(tokens, try weights([sizes[1], random.pick([sizes[1], 5])]))
            let after = try chain(product, length: random.below(4))
            guard shape(after)[2] == sizes[1], random.chance(70) else { return after }
            return try reshape(try transpose(after, [0, 2, 1]), sizes)
        case 21: return try softmax(x, random.below(sizes.count))
        case 22: return try insertion(x)
        case 23:
            let a = try convolve(x)
            let b = try convolve(x)
            return try chain(try binary("add", a, shape(a) == shape(b) ? b : a), length: random.below(4))
        case 24: return try gather(x)
        case 25:
            // Channels last between two layers.
            var y = try transpose(x, [0, 2, 3, 1])
            if random.chance(60) { y = try layerNorm(y) }
            if random.chance(60) {
                y = try chain(try matmul(y, try weights([sizes[1], sizes[1]])), length: random.below(4))
            }
            return try transpose(y, [0, 3, 1, 2])
        case 26:
            // Halves that take different ways.
            guard sizes[1] % 2 == 0 else { throw Refused() }
            let half = sizes[1] / 2
            let a = try slice(x, [0, 0, 0, 0], [sizes[0], half, sizes[2], sizes[3]])
            let b = try slice(x, [0, half, 0, 0], sizes)
            let c = try chain(b, length: random.below(3))
            return try concat(1, random.shuffled([a, b, c, try chain(try binary("add", a, c), length: 1)]))
        case 27:
            // A head: the mean of each channel into a product.
            let mean = try reduce("mean", x, [2, 3])
            let flat = try reshape(random.chance(50) ? try convolve(mean) : mean, [sizes[0], -1])
            return try chain(try matmul(flat, try weights([shape(flat)[1], 10])), length: random.below(3))
        default:
            // A border that goes again.
            let pads = sizes.map { _ in (random.below(3), random.below(3)) }
            let padded = try pad(x, pads.flatMap { [$0.0, $0.1] }, random.pick([0, 0, 1]))
            let start = pads.map { random.chance(80) ? $0.0 + random.below(2) : random.below(3) }
            return try slice(padded, start, zip(start, sizes).map { $0 + $1 - random.below(2) })
        }
    }

    private mutating func layerNorm(_ x: ValueID) throws -> ValueID {
        guard let width = shape(x).last else { throw Refused() }
        let centred = try binary("sub", x, try reduce("mean", x, [-1]))
        let spread = try binary(
            "add", try reduce("mean", try binary("mul", centred, centred), [-1]), try scalarConstant(1e-5))
        let y = try binary("mul", centred, try unary("rsqrt", spread))
        let scaled = try binary("mul", y, try constant([width]) { random, _ in random.number() })
        return try binary("add", scaled, try constant([width]) { random, _ in random.number() })
    }

    mutating func randomSlice(_ x: ValueID) throws -> ValueID {
        var (start, end, stride): ([Int], [Int], [Int]) = ([], [], [])
        for size in shape(x) {
            if random.chance(50) {
                start.append(0); end.append(size); stride.append(1)
                continue
            }
            let first = random.below(size)
            let last = first + random.below(size - first + 1)
            start.append(random.chance(20) ? first - size : first)
            end.append(random.chance(10) ? 1 << 30 : last)
            stride.append(random.pick([1, 1, 1, 2, 3]))
            if random.chance(8) {
                (start[start.count - 1], end[end.count - 1], stride[stride.count - 1]) = (size - 1, -size - 1, -1)
            }
        }
        return try slice(x, start, end, stride)
    }

    /// Blocks or rows by constant indices.
    mutating func gather(_ x: ValueID) throws -> ValueID {
        let sizes = shape(x)
        let depth = 1 + random.below(sizes.count)
        guard depth <= sizes.count, sizes.prefix(depth).allSatisfy({ $0 > 0 }) else { throw Refused() }
        let lead = random.pick([[], [], [2], [1], [3, 2]])
        let rows = lead.reduce(1, *)
        let list = (0..<rows).flatMap { _ in
            sizes.prefix(depth).map { random.chance(10) ? -1 - random.below($0) : random.below($0) }
        }
        return try op(
            "primitive.gather_nd_v1",
            [x, try constant(lead + [depth], random.pick([.int32, .int64])) { _, index in Double(list[index]) }])
    }

    /// A concatenation spelled as padding and choosing by masks, and near misses of it.
    mutating func insertion(_ x: ValueID) throws -> ValueID {
        let sizes = shape(x)
        guard !sizes.isEmpty else { throw Refused() }
        let axis = random.below(sizes.count)
        let partSizes = (0..<1 + random.below(3)).map { _ in 1 + random.below(3) }
        var full = sizes
        full[axis] = sizes[axis] + partSizes.reduce(0, +)
        let count = full[axis]
        var parts: [(ValueID, Int)] = [(x, 0)]
        var start = sizes[axis]
        for size in partSizes {
            var shape = sizes
            shape[axis] = size
            parts.append(
                (
                    random.chance(70) ? try input(shape, scalar(x)) : try chain(try input(shape, scalar(x)), length: 1),
                    start
                ))
            start += size
        }
        if random.chance(30) { parts = random.shuffled(parts) }
        if random.chance(10) { parts.removeLast() }
        let scalar = scalar(x)
        var current = try constant(random.chance(80) ? full : [1], scalar) { _, _ in 0 }
        if random.chance(10) { current = try input(full, scalar) }
        for (part, offset) in parts {
            let size = shape(part)[axis]
            var pads = Array(repeating: 0, count: 2 * full.count)
            (pads[2 * axis], pads[2 * axis + 1]) = (offset, count - offset - size)
            if random.chance(5) { (pads[2 * axis], pads[2 * axis + 1]) = (pads[2 * axis + 1], pads[2 * axis]) }
            let padded = try pad(part, pads, random.chance(85) ? 0 : 1)
            var wrong = 0
            if random.chance(8) { wrong = random.pick([1, -1]) }
            let hole = random.chance(4) ? random.below(full.reduce(1, *)) : -1
            let mask: ValueID
            if random.chance(60) {
                let inner = full[(axis + 1)...].reduce(1, *)
                mask = try constant(full, .bool) { _, index in
                    let place = index / max(1, inner) % max(1, count)
                    return index != hole && (offset + wrong..<offset + size + wrong + 0).contains(place) ? 1 : 0
                }
            } else {
                var shape = sizes
                shape[axis] = size
                let ones =
                    random.chance(50)
                    ? try constant(shape, .bool) { _, _ in 1 }
                    : try op(
                        "primitive.broadcast_in_dims_v1",
                        [
                            try constant(Array(repeating: 1, count: shape.count), .bool) { _, _ in 1 },
                            try numbers(shape), try numbers(Array(shape.indices)),
                        ])
                mask = try pad(ones, pads, 0)
            }
            current = try op(
                random.chance(50) ? "broadcasting_where_v1" : "primitive.where_v1", [mask, padded, current])
        }
        return current
    }
}

extension Array {
    fileprivate func shuffledPrefix(_ random: inout Random) -> [Element] {
        Array(random.shuffled(self).prefix(1 + random.below(count)))
    }
}
