/// The ops that move, select and describe elements, and constants.
package let movementDefinitions: [OpDefinition] =
    constantDefinitions + reshapeDefinitions + transposeDefinitions + broadcastDefinitions + concatDefinitions
    + sliceDefinitions + padDefinitions + gatherDefinitions + nonZeroDefinitions
    + scatterDefinitions + rangeDefinitions + sortDefinitions + poolDefinitions + interpolateDefinitions
    + imageDefinitions + quantizeDefinitions + quantizationStatisticsDefinitions
