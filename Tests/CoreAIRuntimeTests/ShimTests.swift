import CoreVideo
import Testing
import os

@Suite struct ShimTests {
    @Test func availableMemoryIsPlausible() {
        let bytes = os_proc_available_memory()
        #expect(bytes > 1 << 20)
        #expect(bytes < 1 << 50)
    }

    @Test func loggerAcceptsApplesInterpolations() {
        let logger = Logger(subsystem: "org.example", category: "tests")
        logger.debug("loaded \("model", privacy: .public) in \(1.5, format: .fixed(precision: 2)) s")
        logger.info("\(42, format: .hex, align: .right(columns: 4)) \(Optional<Int>.none, privacy: .private)")
        logger.log(level: .debug, "\([1, 2], privacy: .private(mask: .hash))")
        logger.notice("silent unless COREAI_LOG asks for it")
        let signposter = OSSignposter(logger: logger)
        let state = signposter.beginInterval("load", id: signposter.makeSignpostID(), "of \(1)")
        signposter.endInterval("load", state)
        #expect(signposter.withIntervalSignpost("run") { 3 } == 3)
        let count = OSAllocatedUnfairLock(initialState: 0)
        #expect(
            count.withLock {
                $0 += 1
                return $0
            } == 1)
    }

    @Test func pixelBuffersHavePaddedRows() throws {
        let buffer = try #require(CVMutablePixelBuffer(width: 3, height: 2, pixelFormatType: kCVPixelFormatType_32BGRA))
        #expect(buffer.bytesPerRow >= 12)
        buffer.baseAddress.storeBytes(of: 7, toByteOffset: buffer.bytesPerRow, as: UInt8.self)
        let read = CVReadOnlyPixelBuffer(buffer)
        #expect(read.baseAddress.load(fromByteOffset: buffer.bytesPerRow, as: UInt8.self) == 7)
        #expect(
            CVMutablePixelBuffer(width: 0, height: 2, pixelFormatType: kCVPixelFormatType_32BGRA) == nil ? true : false)
    }
}
