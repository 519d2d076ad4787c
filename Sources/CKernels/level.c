/* Which level's kernels to use: the best that this processor and its operating system support. */
#include "ckernels.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

extern const coreai_kernels coreai_kernels_plain;
#if defined(__x86_64__)
extern const coreai_kernels coreai_kernels_avx2, coreai_kernels_avx512;
#endif

/* Best first. */
static const coreai_kernels *const levels[] = {
#if defined(__x86_64__)
    &coreai_kernels_avx512,
    &coreai_kernels_avx2,
#endif
    &coreai_kernels_plain,
};
enum { level_count = sizeof levels / sizeof *levels };

/* What levels/ and simd.h are compiled for. */
static bool has(const coreai_kernels *level) {
#if defined(__x86_64__)
    __builtin_cpu_init();
    bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("f16c");
    if (level == &coreai_kernels_avx2) return avx2;
    if (level == &coreai_kernels_avx512)
        return avx2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
               __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq");
#endif
    return level == &coreai_kernels_plain;
}

const coreai_kernels *coreai_kernels_named(const char *name) {
    for (int i = 0; i < level_count; i++)
        if (strcmp(levels[i]->name, name) == 0) return has(levels[i]) ? levels[i] : NULL;
    return NULL;
}

static const coreai_kernels *choose(void) {
    const char *limit = getenv("COREAI_CPU_LEVEL");
    int first = 0;
    for (int i = 0; limit && i < level_count; i++)
        if (strcmp(levels[i]->name, limit) == 0) first = i;
    for (int i = first; i < level_count; i++)
        if (has(levels[i])) return levels[i];
    return &coreai_kernels_plain;
}

const coreai_kernels *coreai_kernels_best(void) {
    static _Atomic(const coreai_kernels *) chosen;
    const coreai_kernels *level = atomic_load(&chosen);
    if (!level) {
        level = choose();
        atomic_store(&chosen, level);
    }
    return level;
}
