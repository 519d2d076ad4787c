import Glibc

// The Glibc module leaves it out.
@_silgen_name("memfd_create")
private func memfdCreate(_ name: UnsafePointer<CChar>, _ flags: UInt32) -> Int32

/// Memory that processes can share: an anonymous file mapped into this one.
public final class IOSurface: @unchecked Sendable {
    public let allocationSize: Int
    public let baseAddress: UnsafeMutableRawPointer
    /// The anonymous file; closed with the surface. Another process maps it after receiving it over a socket.
    public let fileDescriptor: Int32

    /// Zeroed memory of `allocationSize` bytes; nil when it is not positive or there is no memory.
    public convenience init?(allocationSize: Int) {
        guard allocationSize > 0 else { return nil }
        let file = memfdCreate("IOSurface", 1 /* MFD_CLOEXEC */)
        guard file >= 0 else { return nil }
        guard ftruncate(file, allocationSize) == 0 else {
            close(file)
            return nil
        }
        self.init(adopting: file, allocationSize: allocationSize)
    }

    /// Maps the file of another surface and takes over `fileDescriptor`, also when the result is nil.
    public init?(adopting fileDescriptor: Int32, allocationSize: Int) {
        var status = stat()
        guard allocationSize > 0, fstat(fileDescriptor, &status) == 0, Int(status.st_size) >= allocationSize,
            let mapped = mmap(nil, allocationSize, PROT_READ | PROT_WRITE, MAP_SHARED, fileDescriptor, 0),
            mapped != MAP_FAILED
        else {
            close(fileDescriptor)
            return nil
        }
        self.allocationSize = allocationSize
        self.fileDescriptor = fileDescriptor
        baseAddress = mapped
    }

    deinit {
        munmap(baseAddress, allocationSize)
        close(fileDescriptor)
    }
}
