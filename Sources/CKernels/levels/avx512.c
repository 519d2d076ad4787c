#if defined(__x86_64__)
#define LEVEL_AVX512
#include "kernels.h"
#endif
