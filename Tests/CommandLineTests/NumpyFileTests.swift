import CoreAIGraph
import Foundation
import NumpyFiles
import Testing

/// An `.npy` file as its format has it: magic, version, header length, header, data.
private func file(_ header: String, version: UInt8 = 1, _ data: [UInt8] = []) -> Data {
    let length = header.utf8.count
    let lengthBytes = (0..<(version == 1 ? 2 : 4)).map { UInt8(truncatingIfNeeded: length >> (8 * $0)) }
    return Data([0x93] + Array("NUMPY".utf8) + [version, 0] + lengthBytes + Array(header.utf8) + data)
}

private func header(_ type: String, _ shape: String, fortran: Bool = false) -> String {
    "{'descr': '\(type)', 'fortran_order': \(fortran ? "True" : "False"), 'shape': \(shape), }\n"
}

private func message(_ data: Data) -> String? {
    do throws(NumpyError) {
        _ = try NumpyArray(parsing: data)
        return nil
    } catch { return error.message }
}

private func withFile(_ body: (URL) throws -> Void) throws {
    let url = FileManager.default.temporaryDirectory.appendingPathComponent("numpy-\(UUID().uuidString).npy")
    defer { try? FileManager.default.removeItem(at: url) }
    try body(url)
}

@Suite struct NumpyFileTests {
    @Test(arguments: ScalarType.allCases.filter { $0.bitWidth < 128 || $0 == .cfloat64 })
    func everyTypeComesBack(_ scalar: ScalarType) throws {
        // 0x3c in every byte is a number in each type, and half-precision numbers survive the way through single ones.
        let bytes = Data(repeating: 0x3c, count: 6 * scalar.byteStride)
        try withFile { url in
            try NumpyArray(scalar: scalar, shape: [2, 3], kernelBytes: bytes).write(to: url)
            let read = try NumpyArray(contentsOf: url)
            #expect(read.shape == [2, 3])
            #expect(read.dtype == scalar.numpyStorage)
            #expect(try read.kernelBytes(as: scalar) == bytes)
        }
    }

    @Test(arguments: [[], [0], [7], [2, 0, 3], [1, 1, 1, 1, 5]])
    func everyShapeComesBack(_ shape: [Int]) throws {
        let array = NumpyArray(dtype: .int16, shape: shape, data: Data(count: 2 * shape.reduce(1, *)))
        try withFile { url in
            try array.write(to: url)
            let read = try NumpyArray(contentsOf: url)
            #expect(read.shape == shape && read.data == array.data)
            // NumPy maps files whose data is aligned.
            #expect(try (Data(contentsOf: url).count - array.data.count) % 64 == 0)
        }
    }

    @Test func typesThatNumPyLacksAreNotWritten() throws {
        try withFile { url in
            #expect(throws: NumpyError.self) {
                try NumpyArray(scalar: .int128, shape: [1], kernelBytes: Data(count: 16)).write(to: url)
            }
        }
    }

    @Test(arguments: [UInt8(1), 2, 3]) func everyFormatIsRead(_ version: UInt8) throws {
        let array = try NumpyArray(parsing: file(header("<i2", "(2,)"), version: version, [1, 0, 2, 0]))
        #expect(array.dtype == .int16 && array.shape == [2] && Array(array.data) == [1, 0, 2, 0])
    }

    @Test func bigEndianIsSwapped() throws {
        #expect(try Array(NumpyArray(parsing: file(header(">i2", "(2,)"), [1, 2, 3, 4])).data) == [2, 1, 4, 3])
        // The parts of a complex number are swapped one by one.
        #expect(
            try Array(NumpyArray(parsing: file(header(">c8", "()"), [1, 2, 3, 4, 5, 6, 7, 8])).data)
                == [4, 3, 2, 1, 8, 7, 6, 5])
    }

    @Test func columnMajorBecomesRowMajor() throws {
        // [[1, 2, 3], [4, 5, 6]] in column-major order.
        let array = try NumpyArray(parsing: file(header("|u1", "(2, 3)", fortran: true), [1, 4, 2, 5, 3, 6]))
        #expect(array.shape == [2, 3] && Array(array.data) == [1, 2, 3, 4, 5, 6])
    }

    @Test func aWrongTypeIsNamed() throws {
        let array = NumpyArray(dtype: .float64, shape: [1], data: Data(count: 8))
        let error = #expect(throws: NumpyError.self) { try array.kernelBytes(as: .bfloat16) }
        #expect(error?.message == "expected uint16 (for bfloat16), found float64")
    }

    @Test func aMissingFileIsNamed() {
        let error = #expect(throws: NumpyError.self) {
            try NumpyArray(contentsOf: URL(fileURLWithPath: "/nowhere/x.npy"))
        }
        #expect(error?.message == "/nowhere/x.npy: no such file or directory")
    }
}

@Suite struct HostileNumpyFiles {
    @Test(arguments: [
        "(4611686018427387904, 4)", "(9223372036854775807,)", "(0, 4611686018427387904, 4611686018427387904)",
        "(99999999999999999999,)", "(-1,)", "(2, x)",
    ])
    func impossibleShapesAreRefused(_ shape: String) {
        for fortran in [false, true] {
            #expect(message(file(header("<f4", shape, fortran: fortran), [0, 0, 0, 0]))?.contains("shape") == true)
        }
    }

    @Test func missingDataIsCounted() {
        #expect(message(file(header("<f4", "(3,)"), [0, 0, 0, 0])) == "expected 12 bytes for float32 [3], found 4")
    }

    @Test(arguments: ["O", "<U3", "<V8", "<f3", "", "<"]) func otherTypesAreRefused(_ type: String) {
        #expect(message(file(header(type, "()"), [0, 0, 0, 0, 0, 0, 0, 0]))?.contains("dtype") == true)
    }

    @Test func headersThatLieAreRefused() {
        #expect(message(Data()) != nil)
        #expect(message(Data("PK\u{3}\u{4} not an array".utf8)) == "expected an .npy file, found other bytes")
        #expect(message(file("")) != nil)
        #expect(message(file("{}")) != nil)
        #expect(message(file(header("<f4", "()"), version: 9)) != nil)
        #expect(message(Data([0x93] + Array("NUMPY".utf8) + [2, 0, 0xff, 0xff, 0xff, 0xff])) != nil)
    }

    /// Every prefix, and every byte replaced by some others: whatever it says, it does not trap.
    @Test func damageNeverTraps() {
        let whole = file(header("<f4", "(2, 3)", fortran: true), [UInt8](repeating: 1, count: 24))
        for count in 0..<whole.count { #expect(message(whole.prefix(count)) != nil) }
        for index in whole.indices {
            for byte in [0x00, 0x01, 0x28, 0x2c, 0x30, 0x39, 0x7f, 0xff] as [UInt8] {
                var damaged = whole
                damaged[index] = byte
                _ = message(damaged)
            }
        }
    }
}
