#include "include/ckernels.h"

#include <sys/mman.h>

void coreai_advise_huge_pages(void *memory, size_t count) {
#if defined(MADV_HUGEPAGE)
    (void)madvise(memory, count, MADV_HUGEPAGE);
#else
    (void)memory;
    (void)count;
#endif
}
