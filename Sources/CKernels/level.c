/* The tables of the levels, and which of them this processor can run. */
#include "ckernels.h"

#include <stdlib.h>
#include <string.h>

extern const coreai_kernels coreai_kernels_plain;
#if defined(__x86_64__)
extern const coreai_kernels coreai_kernels_avx2, coreai_kernels_avx512;
#endif

const coreai_kernels *coreai_kernels_named(const char *name) {
    if (strcmp(name, coreai_kernels_plain.name) == 0) return &coreai_kernels_plain;
#if defined(__x86_64__)
    __builtin_cpu_init();
    const bool has_avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("f16c");
    if (strcmp(name, "avx2") == 0) return has_avx2 ? &coreai_kernels_avx2 : NULL;
    if (strcmp(name, "avx512") == 0)
        return has_avx2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                       __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq")
                   ? &coreai_kernels_avx512
                   : NULL;
#endif
    return NULL;
}

const coreai_kernels *coreai_kernels_best(void) {
    static const char *const names[] = {"avx512", "avx2"};
    const char *highest = getenv("COREAI_CPU_LEVEL");
    bool reached = highest == NULL;
    for (int i = 0; i < 2; i++) {
        reached = reached || strcmp(highest, names[i]) == 0;
        const coreai_kernels *kernels = reached ? coreai_kernels_named(names[i]) : NULL;
        if (kernels) return kernels;
    }
    return &coreai_kernels_plain;
}
