/* SIMD kernels for the CPU backend. Each uses what the processor it runs on has. */
#ifndef COREAI_CKERNELS_H
#define COREAI_CKERNELS_H

#include <stddef.h>
#include <stdint.h>

#ifndef __clang__
#define _Nonnull
#endif

/* Widens IEEE half-precision numbers; exact. `count` elements each, the arrays may not overlap. */
void coreai_widen_half(const uint16_t *_Nonnull source, float *_Nonnull target, size_t count);

/* Rounds to half precision, to nearest even; overflow to infinity. `count` elements each, no overlap. */
void coreai_narrow_half(const float *_Nonnull source, uint16_t *_Nonnull target, size_t count);

#endif
