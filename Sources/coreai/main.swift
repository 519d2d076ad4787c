import CoreAIAsset
import CoreAIDelegates
import CoreAIPlanner
import CoreAI
import Foundation
let a = try LoadedAsset(contentsOf: URL(fileURLWithPath: CommandLine.arguments[1]))
let p = try a.program()!
for g in p.graphs where !g.isPrivate {
  print(g.text(constantLimit: 64))
  do {
  let c = try canonicalize(g, library: Dictionary(p.graphs.map{($0.name,$0)}, uniquingKeysWith:{a,_ in a}))
  print("CANONICAL", c.graph.text(constantLimit: 64), c.constraints)
  } catch { print(error) }
}
