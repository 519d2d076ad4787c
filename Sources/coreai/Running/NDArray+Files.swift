import CoreAIRuntime
import Foundation
import NumpyFiles

extension NDArray {
    /// - Parameter role: leads what is thrown, `input 'x'`.
    init(contentsOf path: String, as expected: NDArrayDescriptor, role: String) throws {
        do {
            let file = try NumpyArray(contentsOf: URL(fileURLWithPath: path))
            guard expected.accepts(file.shape) else {
                throw NumpyError("\(path): expected \(expected), found the shape \(file.shape)")
            }
            let stored = expected.scalarType.numpyStorage
            guard file.dtype == stored else {
                let purpose = stored == expected.scalarType ? "" : " (for \(expected.scalarType.name))"
                throw NumpyError(
                    "\(path): expected \(stored.name)\(purpose), found \(file.dtype.name); convert it with astype('\(stored.name)')"
                )
            }
            let bytes = try file.kernelBytes(as: expected.scalarType)
            self.init(kernelBytes: bytes, shape: file.shape, scalarType: expected.scalarType)
        } catch let error as NumpyError {
            throw Failure("\(role): \(error)")
        }
    }

    func write(to url: URL) throws {
        try NumpyArray(scalar: scalarType, shape: shape, kernelBytes: kernelBytes).write(to: url)
    }
}

extension NDArrayDescriptor {
    /// Same rank, and equal where the size is fixed.
    func accepts(_ sizes: [Int]) -> Bool {
        sizes.count == rank && zip(shape, sizes).allSatisfy { $0 == -1 || $0 == $1 }
    }
}

extension String {
    /// The name as a file name: characters outside `A-Za-z0-9._-` become `_`.
    var fileName: String {
        String(
            unicodeScalars.map { scalar in
                switch scalar {
                case "A"..."Z", "a"..."z", "0"..."9", ".", "_", "-": Character(scalar)
                default: "_"
                }
            })
    }
}
