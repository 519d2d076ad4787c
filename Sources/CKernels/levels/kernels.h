/* Every kernel for one level, and the level's table. */
#include "../simd.h"

/* Families, in the order in which they use each other. */
#include "../kernels/vector_math.h"
#include "../kernels/epilogue.h"
#include "../kernels/tile.h"
#include "../kernels/gemm.h"
#include "../kernels/convolution.h"
#include "../kernels/winograd.h"
#include "../kernels/depthwise.h"
#include "../kernels/transpose.h"
#include "../kernels/rows.h"
#include "../kernels/pool.h"
#include "../kernels/pointwise.h"
#include "../kernels/attention.h"

const coreai_kernels JOIN(coreai_kernels, LEVEL) = {
#if defined(LEVEL_AVX512)
    .name = "avx512",
#elif defined(LEVEL_AVX2)
    .name = "avx2",
#elif defined(__aarch64__)
    .name = "neon",
#else
    .name = "plain",
#endif
    .lanes = LANES,
    .gemm_panel = gemm_panel,
    .gemm_packed_count = gemm_packed_count,
    .gemm_pack = gemm_pack,
    .gemm = gemm,
    .conv_pack = conv_pack,
    .conv = conv,
    .winograd_packed_count = winograd_packed_count,
    .winograd_pack = winograd_pack,
    .winograd_scratch_count = winograd_scratch_count,
    .winograd = winograd,
    .depthwise = depthwise,
    .pool_max = pool_max,
    .pool_mean = pool_mean,
    .pointwise = pointwise,
    .softmax_rows = softmax_rows,
    .softmax_columns = softmax_columns,
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
