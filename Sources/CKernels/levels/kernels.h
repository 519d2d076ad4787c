/* Every kernel for one level, and the level's table. */
#include "../simd.h"

/* Families, in the order in which they use each other. */
// #include "../kernels/vector_math.h"
// ...

/* const coreai_kernels JOIN(coreai_kernels, LEVEL) = { .name = ..., ... }; */

#if defined(LEVEL_AVX512) || defined(LEVEL_AVX2)
#pragma clang attribute pop
#endif
