/* Vectors of LANES floats for the level that is being compiled. A file of levels/ defines one of LEVEL_AVX512,
 * LEVEL_AVX2 and LEVEL_PLAIN, includes this and then the kernels; on Arm the plain level is NEON. */
#include "include/ckernels.h"

#include <math.h>
#include <string.h>
#if defined(__x86_64__)
#include <immintrin.h>
#endif

#define JOIN_(a, b) a##_##b
#define JOIN(a, b) JOIN_(a, b)

#if defined(LEVEL_AVX512)
#define LANES 16
#define LEVEL avx512
#define REGISTERS 32
#pragma clang attribute push(__attribute__((target("avx512f,avx512bw,avx512vl,avx512dq,avx2,fma,f16c"))), apply_to = function)
#elif defined(LEVEL_AVX2)
#define LANES 8
#define LEVEL avx2
#define REGISTERS 16
#pragma clang attribute push(__attribute__((target("avx2,fma,f16c"))), apply_to = function)
#else
#define LANES 4
#define LEVEL plain
#if defined(__aarch64__)
#define REGISTERS 32
#else
#define REGISTERS 16
#endif
#endif

#define INLINE static inline __attribute__((always_inline))
#define UNROLL _Pragma("clang loop unroll(full)")
#define MIN(a, b) ((a) < (b) ? (a) : (b))
#define MAX(a, b) ((a) > (b) ? (a) : (b))

typedef float vf __attribute__((ext_vector_type(LANES)));
typedef int32_t vi __attribute__((ext_vector_type(LANES)));
typedef uint32_t vu __attribute__((ext_vector_type(LANES)));
typedef float vf_unaligned __attribute__((ext_vector_type(LANES), aligned(4)));

INLINE vf vset(float x) { return (vf)(x); }
INLINE vf vload(const float *p) { return *(const vf_unaligned *)p; }
INLINE void vstore(float *p, vf v) { *(vf_unaligned *)p = v; }

/* The first `n` lanes, 0 < n <= LANES; the others read as 0 and are not written. */
#if defined(LEVEL_AVX512)
INLINE vf vload_part(const float *p, int n) { return (vf)_mm512_maskz_loadu_ps((__mmask16)((1u << n) - 1), p); }
INLINE void vstore_part(float *p, vf v, int n) { _mm512_mask_storeu_ps(p, (__mmask16)((1u << n) - 1), (__m512)v); }
#elif defined(LEVEL_AVX2)
static const int32_t lane_masks[16] = {-1, -1, -1, -1, -1, -1, -1, -1, 0, 0, 0, 0, 0, 0, 0, 0};
INLINE __m256i lane_mask(int n) { return _mm256_loadu_si256((const __m256i *)(lane_masks + 8 - n)); }
INLINE vf vload_part(const float *p, int n) { return (vf)_mm256_maskload_ps(p, lane_mask(n)); }
INLINE void vstore_part(float *p, vf v, int n) { _mm256_maskstore_ps(p, lane_mask(n), (__m256)v); }
#else
/* Without a call, around which vectors would have to leave their registers. */
INLINE vf vload_part(const float *p, int n) {
    return (vf){p[0], n > 1 ? p[1] : 0, n > 2 ? p[2] : 0, n > 3 ? p[3] : 0};
}
INLINE void vstore_part(float *p, vf v, int n) {
    p[0] = v[0];
    if (n > 1) p[1] = v[1];
    if (n > 2) p[2] = v[2];
    if (n > 3) p[3] = v[3];
}
#endif

/* a * b + c; rounded once where the processor can. */
#if defined(LEVEL_PLAIN) && !defined(__aarch64__)
INLINE vf vfma(vf a, vf b, vf c) { return a * b + c; }
#else
INLINE vf vfma(vf a, vf b, vf c) { return __builtin_elementwise_fma(a, b, c); }
#endif

/* As the instructions do it: `b` where either is NaN. */
INLINE vf vmin(vf a, vf b) { return a < b ? a : b; }
INLINE vf vmax(vf a, vf b) { return a > b ? a : b; }
