/// The ops that move, select and describe elements, and constants.
let movementDefinitions: [OpDefinition] =
    constantDefinitions + reshapeDefinitions + transposeDefinitions + broadcastDefinitions + concatDefinitions
    + sliceDefinitions + padDefinitions + gatherDefinitions + nonZeroDefinitions
