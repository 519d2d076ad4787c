#if defined(__x86_64__)
#define LEVEL_AVX2
#include "kernels.h"
#endif
