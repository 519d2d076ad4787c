/// Folds, scans and normalizations along axes.
package let reductionDefinitions: [OpDefinition] = reduceDefinitions
