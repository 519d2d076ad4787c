/* Conversion between half and single precision, by the processor where it can. */
#include "ckernels.h"

#include <string.h>

static void widen_plain(const uint16_t *source, float *target, size_t count) {
    for (size_t i = 0; i < count; i++) {
        uint32_t bits = source[i];
        uint32_t sign = (bits & 0x8000u) << 16;
        uint32_t exponent = (bits >> 10) & 31, fraction = bits & 1023;
        uint32_t word;
        if (exponent == 31) {
            word = sign | 0x7f800000u | fraction << 13;
        } else if (exponent != 0) {
            word = sign | (exponent + 112) << 23 | fraction << 13;
        } else {
            /* A subnormal half is a whole number of 2^-24. */
            float magnitude = (float)fraction * 0x1p-24f;
            memcpy(&word, &magnitude, 4);
            word |= sign;
        }
        memcpy(&target[i], &word, 4);
    }
}

static void narrow_plain(const float *source, uint16_t *target, size_t count) {
    for (size_t i = 0; i < count; i++) {
        uint32_t word;
        memcpy(&word, &source[i], 4);
        uint16_t sign = (uint16_t)(word >> 16 & 0x8000u);
        uint32_t magnitude = word & 0x7fffffffu;
        if (magnitude > 0x7f800000u) {
            target[i] = sign | 0x7e00u | (uint16_t)(magnitude >> 13 & 1023);
        } else if (magnitude >= 0x477ff000u) {
            target[i] = sign | 0x7c00u; /* 65520 and above round to infinity */
        } else if (magnitude < 0x38800000u) {
            /* Below 2^-14 the addition rounds to a multiple of 2^-24, to even. */
            float value, shifted;
            memcpy(&value, &magnitude, 4);
            shifted = value + 0x1p-1f;
            memcpy(&magnitude, &shifted, 4);
            target[i] = sign | (uint16_t)(magnitude - 0x3f000000u);
        } else {
            uint32_t rounded = magnitude + 0xfffu + (magnitude >> 13 & 1);
            target[i] = sign | (uint16_t)((rounded - 0x38000000u) >> 13);
        }
    }
}

#if defined(__x86_64__)
#include <immintrin.h>

__attribute__((target("avx,f16c"))) static void widen_f16c(const uint16_t *source, float *target, size_t count) {
    size_t i = 0;
    for (; i + 8 <= count; i += 8)
        _mm256_storeu_ps(target + i, _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)(source + i))));
    widen_plain(source + i, target + i, count - i);
}

__attribute__((target("avx,f16c"))) static void narrow_f16c(const float *source, uint16_t *target, size_t count) {
    size_t i = 0;
    for (; i + 8 <= count; i += 8)
        _mm_storeu_si128((__m128i *)(target + i),
                         _mm256_cvtps_ph(_mm256_loadu_ps(source + i), _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
    narrow_plain(source + i, target + i, count - i);
}

static int has_f16c(void) {
    __builtin_cpu_init();
    return __builtin_cpu_supports("avx") && __builtin_cpu_supports("f16c");
}
#endif

void coreai_widen_half(const uint16_t *source, float *target, size_t count) {
#if defined(__x86_64__)
    if (has_f16c()) {
        widen_f16c(source, target, count);
        return;
    }
#endif
    widen_plain(source, target, count);
}

void coreai_narrow_half(const float *source, uint16_t *target, size_t count) {
#if defined(__x86_64__)
    if (has_f16c()) {
        narrow_f16c(source, target, count);
        return;
    }
#endif
    narrow_plain(source, target, count);
}
