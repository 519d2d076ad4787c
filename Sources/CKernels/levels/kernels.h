/* Every kernel for one level, and the level's table. */
#include "../simd.h"

/* Families, in the order in which they use each other. */
#include "../kernels/vector_math.h"
#include "../kernels/transpose.h"
#include "../kernels/rows.h"
#include "../kernels/pool.h"
#include "../kernels/pointwise.h"
#include "../kernels/attention.h"

#if defined(LEVEL_PLAIN) && defined(__aarch64__)
#define LEVEL_NAME "neon"
#elif defined(LEVEL_PLAIN)
#define LEVEL_NAME "plain"
#elif defined(LEVEL_AVX2)
#define LEVEL_NAME "avx2"
#else
#define LEVEL_NAME "avx512"
#endif

const coreai_kernels JOIN(coreai_kernels, LEVEL) = {
    .name = LEVEL_NAME,
    .lanes = LANES,
    .pool_max = pool_max,
    .pool_mean = pool_mean,
    .pointwise = pointwise,
    .softmax_rows = softmax_rows,
    .log_softmax_rows = log_softmax_rows,
    .layer_norm_rows = layer_norm_rows,
    .rms_norm_rows = rms_norm_rows,
    .reduce_rows = reduce_rows,
    .reduce_columns = reduce_columns,
    .attention_scratch_count = attention_scratch_count,
    .attention = attention,
    .transpose = transpose,
};

#if defined(LEVEL_AVX512) || defined(LEVEL_AVX2)
#pragma clang attribute pop
#endif
