// A file of its own: next to Testing, an import of CoreGraphics asks for an overlay that Linux lacks.
import CoreGraphics

func area(_ size: CGSize) -> CGFloat { size.width * size.height }
let fourCharacters: OSType = 0
