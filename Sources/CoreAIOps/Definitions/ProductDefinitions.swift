/// Folds, scans and normalizations along axes.
package let reductionDefinitions: [OpDefinition] =
    reduceDefinitions + argmaxDefinitions + softmaxDefinitions + scanDefinitions

/// Matrix products and convolutions.
package let productDefinitions: [OpDefinition] =
    matmulDefinitions + convolutionDefinitions + transposedConvolutionDefinitions
