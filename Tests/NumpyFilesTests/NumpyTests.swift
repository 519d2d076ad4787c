import CoreAIGraph
import Foundation
import NumpyFiles
import Testing

@Suite struct NumpyTests {
    /// A file with the given header text, version and content.
    private func file(_ header: String, _ content: [UInt8] = [], version: UInt8 = 1) -> Data {
        let length = header.utf8.count
        let sizes = (0..<(version == 1 ? 2 : 4)).map { UInt8(truncatingIfNeeded: length >> (8 * $0)) }
        return Data([0x93] + Array("NUMPY".utf8) + [version, 0] + sizes + Array(header.utf8) + content)
    }

    private func header(_ descr: String, _ shape: String, order: String = "False") -> String {
        "{'descr': '\(descr)', 'fortran_order': \(order), 'shape': \(shape), }\n"
    }

    // MARK: What NumPy writes

    @Test(arguments: [1, 2, 3] as [UInt8]) func everyVersionIsRead(version: UInt8) throws {
        let array = try NumpyArray(parsing: file(header("<i2", "(2,)"), [1, 0, 255, 255], version: version))
        #expect(array.dtype == .int16 && array.shape == [2] && array.data == Data([1, 0, 255, 255]))
    }

    @Test func bigEndianElementsAreTurned() throws {
        let array = try NumpyArray(parsing: file(header(">i4", "(2,)"), [0, 0, 1, 2, 3, 4, 5, 6]))
        #expect(array.data == Data([2, 1, 0, 0, 6, 5, 4, 3]))
    }

    @Test func bigEndianComplexNumbersKeepTheirParts() throws {
        let array = try NumpyArray(parsing: file(header(">c8", "()"), [1, 2, 3, 4, 5, 6, 7, 8]))
        #expect(array.dtype == .cfloat32 && array.data == Data([4, 3, 2, 1, 8, 7, 6, 5]))
    }

    @Test func fortranOrderBecomesRowMajor() throws {
        // Element [i, j, k] is 100 i + 10 j + k, the first index fastest.
        var content: [UInt8] = []
        for k in 0..<4 { for j in 0..<3 { for i in 0..<2 { content.append(UInt8(100 * i + 10 * j + k)) } } }
        let array = try NumpyArray(parsing: file(header("|u1", "(2, 3, 4)", order: "True"), content))
        var expected: [UInt8] = []
        for i in 0..<2 { for j in 0..<3 { for k in 0..<4 { expected.append(UInt8(100 * i + 10 * j + k)) } } }
        #expect(array.data == Data(expected))
    }

    @Test func noElementsAndOneScalarAreRead() throws {
        let none = try NumpyArray(parsing: file(header("<f2", "(0, 3)", order: "True")))
        #expect(none.shape == [0, 3] && none.data.isEmpty)
        let one = try NumpyArray(parsing: file(header("|b1", "()"), [1]))
        #expect(one.shape == [] && one.data == Data([1]))
    }

    @Test func headersOfOtherWritersAreRead() throws {
        let array = try NumpyArray(parsing: file("{\"shape\":(2L,),\"descr\":\"|i1\",\"fortran_order\":False}", [1, 2]))
        #expect(array.shape == [2] && array.dtype == .int8)
    }

    @Test(arguments: ScalarType.allCases) func everyTypeSurvivesAFile(scalar: ScalarType) throws {
        let url = FileManager.default.temporaryDirectory.appendingPathComponent("\(UUID()).npy")
        defer { try? FileManager.default.removeItem(at: url) }
        for shape in [[], [3], [2, 0], [2, 3]] {
            let bytes = Data((0..<shape.reduce(scalar.byteStride, *)).map { UInt8($0 % 2) })
            let array = NumpyArray(scalar: scalar, shape: shape, kernelBytes: bytes)
            if scalar.bitWidth == 128 && scalar.isInteger {
                #expect(throws: NumpyError.self) { try array.write(to: url) }
                continue
            }
            try array.write(to: url)
            let read = try NumpyArray(contentsOf: url)
            #expect(read.shape == shape)
            #expect(try read.kernelBytes(as: scalar) == bytes)
        }
    }

    @Test func elementsStartAtAMultipleOf64Bytes() throws {
        let url = FileManager.default.temporaryDirectory.appendingPathComponent("\(UUID()).npy")
        defer { try? FileManager.default.removeItem(at: url) }
        for rank in 0...64 {
            let array = NumpyArray(dtype: .uint8, shape: Array(repeating: 1, count: rank), data: Data([7]))
            try array.write(to: url)
            #expect(try Data(contentsOf: url).count % 64 == 1)
            #expect(try NumpyArray(contentsOf: url).shape.count == rank)
        }
    }

    // MARK: Hostile and mistaken files

    /// What a file must be refused for, and a word the message holds.
    static let hostile: [(header: String, content: [UInt8], word: String)] = [
        ("{'descr': '|i1', 'fortran_order': False, 'shape': (0, 4611686018427387904, 4611686018427387904), }", [], "shape"),
        ("{'descr': '<f4', 'fortran_order': False, 'shape': (4611686018427387904, 4, 0), }", [], "shape"),
        ("{'descr': '|i1', 'fortran_order': False, 'shape': (99999999999999999999,), }", [1], "shape"),
        ("{'descr': '|i1', 'fortran_order': False, 'shape': (-1,), }", [1], "shape"),
        ("{'descr': '|i1', 'fortran_order': False, 'shape': 1, }", [1], "'('"),
        ("{'descr': '|i1', 'fortran_order': False, 'shape': (1, ", [1], "shape"),
        ("{'descr': '|i1', 'fortran_order': False, 'shape': (1 1), }", [1], "')'"),
        ("{'descr': '|i1', 'fortran_order': Maybe, 'shape': (1,), }", [1], "True or False"),
        ("{'descr': '|i1', 'fortran_order': False, 'shape': (1,), 'shape': (2,), }", [1], "once"),
        ("{'descr': '|i1', 'fortran_order': False}", [1], "shape"),
        ("{'descr': '|O', 'fortran_order': False, 'shape': (1,), }", [1], "|O"),
        ("{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (1,), }", [1], "header"),
        ("{'descr': '<f4", [1], "header"),
        ("", [], "header"),
        ("{'descr': '<f4', 'fortran_order': False, 'shape': (3,), }", Array(repeating: 0, count: 11), "12 bytes"),
        ("{'descr': '<f4', 'fortran_order': False, 'shape': (3,), }", Array(repeating: 0, count: 13), "12 bytes"),
        ("{'descr': '|i1', 'fortran_order': False, 'shape': (\(String(repeating: "1, ", count: 15_000))), }", [1], "at most 64"),
    ]

    @Test(arguments: hostile.indices) func hostileHeadersAreRefused(index: Int) throws {
        let (header, content, word) = Self.hostile[index]
        let error = #expect(throws: NumpyError.self) { try NumpyArray(parsing: file(header, content)) }
        #expect(error?.description.contains(word) == true, "\(error?.description ?? "")")
    }

    @Test func cutFilesAreRefused() throws {
        let whole = file(header("<f4", "(1,)"), [0, 0, 128, 63], version: 2)
        _ = try NumpyArray(parsing: whole)
        for count in 0..<whole.count {
            #expect(throws: NumpyError.self) { try NumpyArray(parsing: whole.prefix(count)) }
        }
    }

    @Test func changedBytesNeverTrap() {
        let whole = file(header("<i2", "(2, 3)", order: "True"), Array(repeating: 1, count: 12))
        for index in whole.indices {
            for byte in [0, 0x28, 0x30, 0x39, 0x2c, 0x7d, 0xff] as [UInt8] {
                var changed = whole
                changed[index] = byte
                if let array = try? NumpyArray(parsing: changed) {
                    #expect(array.data.count == array.shape.reduce(array.dtype.byteStride, *))
                }
            }
        }
    }

    @Test func messagesNameTheFile() throws {
        let url = FileManager.default.temporaryDirectory.appendingPathComponent("\(UUID()).npy")
        defer { try? FileManager.default.removeItem(at: url) }
        let missing = #expect(throws: NumpyError.self) { try NumpyArray(contentsOf: url) }
        #expect(missing?.description.contains(url.path) == true)
        try file(header("<f4", "(3,)"), [1]).write(to: url)
        let short = #expect(throws: NumpyError.self) { try NumpyArray(contentsOf: url) }
        #expect(short?.description.contains("\(url.path): expected 12 bytes") == true)
    }

    // MARK: Kernel form

    @Test func anyNonzeroByteIsTrue() throws {
        let array = try NumpyArray(parsing: file(header("|b1", "(3,)"), [0, 2, 255]))
        #expect(try array.kernelBytes(as: .bool) == Data([0, 1, 1]))
    }

    @Test func narrowIntegersStayInTheirRange() throws {
        let signed = try NumpyArray(parsing: file(header("|i1", "(2,)"), [0xf8, 7]))
        #expect(try signed.kernelBytes(as: .int4) == Data([0xf8, 7]))
        let wide = #expect(throws: NumpyError.self) { try signed.kernelBytes(as: .int3) }
        #expect(wide?.description.contains("-8 at element 0") == true)
        let unsigned = try NumpyArray(parsing: file(header("|u1", "(2,)"), [1, 16]))
        for scalar in [ScalarType.uint4, .float4e2m1fn, .uint1] {
            #expect(throws: NumpyError.self) { try unsigned.kernelBytes(as: scalar) }
        }
        #expect(try unsigned.kernelBytes(as: .uint5) == Data([1, 16]))
    }

    @Test func anotherTypeIsRefused() throws {
        let floats = try NumpyArray(parsing: file(header("<f4", "()"), [0, 0, 0, 0]))
        let error = #expect(throws: NumpyError.self) { try floats.kernelBytes(as: .bfloat16) }
        #expect(error?.description.contains("expected uint16 (for bfloat16), found float32") == true)
        #expect(throws: NumpyError.self) { try floats.kernelBytes(as: .int128) }
    }

    @Test func bytesThatDoNotFitTheShapeAreNotWritten() {
        let url = FileManager.default.temporaryDirectory.appendingPathComponent("\(UUID()).npy")
        for (shape, count) in [([2, 2], 3), ([Int.max, 4], 0), ([-1], 0), (Array(repeating: 1, count: 65), 1)] {
            let array = NumpyArray(dtype: .int8, shape: shape, data: Data(count: count))
            #expect(throws: NumpyError.self) { try array.write(to: url) }
        }
        #expect(!FileManager.default.fileExists(atPath: url.path))
    }
}
