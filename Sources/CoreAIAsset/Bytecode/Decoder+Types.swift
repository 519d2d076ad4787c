import CoreAIGraph

extension Decoder {
    func valueType(_ index: Int, depth: Int = 0) throws(ReadError) -> ValueType {
        if let known = valueTypes[index] { return known }
        guard depth < Self.depthLimit else {
            throw fault(type: index, "expected types nested at most \(Self.depthLimit) deep, found more")
        }
        let type: ValueType
        switch try storedType(index) {
        case .tensor(let sizes, let element, let encoding):
            type = try tensor(sizes, element: element, encoding: encoding, index)
        case .handle(let inner): type = .handle(try valueType(inner, depth: depth + 1))
        case .token: type = .token
        case .image(let fourCC, let height, let width):
            guard case .record(27, let code) = try storedAttribute(fourCC), case .number(let value)? = code.first,
                let pixelFormat = UInt32(exactly: value)
            else {
                throw fault(
                    attribute: fourCC, "expected a 32-bit pixel format (attribute code 27), found another attribute")
            }
            type = .image(ImageType(pixelFormat: pixelFormat, height: height, width: width))
        case .scalar(let scalar):
            throw fault(type: index, "expected the type of a value, found the bare scalar \(scalar.name)")
        case .function: throw fault(type: index, "expected the type of a value, found a function type")
        case .other(let name): throw fault(type: index, "expected the type of a value, found \(name)")
        }
        valueTypes[index] = type
        return type
    }

    private func tensor(_ sizes: [Int], element: Int, encoding: Int?, _ index: Int) throws(ReadError) -> ValueType {
        let scalar: ScalarType
        switch try storedType(element) {
        case .scalar(let found): scalar = found
        case .other(let name):
            throw fault(type: index, "expected an element type that this runtime computes with, found \(name)")
        default: throw fault(type: index, "expected a scalar as the element type, found a compound type")
        }
        try container.budget.charge(MemoryLayout<Dimension>.stride + 32, sizes.count, at: container.program)
        var bytes = scalar.byteStride
        var shape: [Dimension] = []
        for size in sizes {
            guard size != StoredType.dynamicSize else {
                shape.append(.unknown)
                continue
            }
            guard size >= 0 else { throw fault(type: index, "expected sizes of 0 or more, found \(size)") }
            shape.append(Dimension(size))
            guard size > 0 else { continue }
            let (product, overflow) = bytes.multipliedReportingOverflow(by: size)
            guard !overflow else {
                throw fault(
                    type: index, "expected a tensor of fewer than 2^63 bytes, found sizes \(sizes) of \(scalar.name)")
            }
            bytes = product
        }
        var type = TensorType(scalar, shape)
        guard let encoding else { return .tensor(type) }
        let (layout, sparse) = try tensorEncoding(encoding)
        type.layout = layout
        if let layout, layout.alignments.count != type.rank + 1 || layout.interleave.count != type.rank {
            throw fault(
                attribute: encoding,
                "expected \(type.rank + 1) alignments and \(type.rank) interleave factors for a tensor of rank \(type.rank), "
                    + "found \(layout.alignments.count) and \(layout.interleave.count)")
        }
        return sparse.map { .sparse(type, $0) } ?? .tensor(type)
    }

    /// What an encoding says; hardware constraints may lie over one other encoding.
    private func tensorEncoding(_ index: Int, isBase: Bool = false) throws(ReadError) -> (
        LayoutConstraint?, SparseEncoding?
    ) {
        switch try storedAttribute(index) {
        case .sparse(let scheme, let positionWidth, let coordinateWidth, let storedCount, let blockSize):
            guard let scheme = SparseEncoding.Scheme(rawValue: scheme) else {
                throw fault(attribute: index, "expected a sparse scheme from 0 to 4, found \(scheme)")
            }
            return (
                nil,
                SparseEncoding(
                    scheme: scheme, positionWidth: positionWidth, coordinateWidth: coordinateWidth,
                    storedCount: storedCount, blockSize: blockSize)
            )
        case .record(let code, let values) where code == 12 || code == 13:
            guard values.count == (code == 12 ? 3 : 4), case .signedNumbers(let alignments) = values[0],
                case .signedNumbers(let interleave) = values[1], case .number(let number) = values[2],
                let backing = Int(exactly: number)
            else { break }
            let layout = LayoutConstraint(alignments: alignments, interleave: interleave, backing: backing)
            guard code == 13, case .attribute(let base) = values[3] else { return (layout, nil) }
            guard !isBase else { break }
            return (layout, try tensorEncoding(base, isBase: true).1)
        default: break
        }
        throw fault(
            attribute: index, "expected a sparse encoding or hardware constraints of a tensor, found another attribute")
    }
}
