#define _GNU_SOURCE
#include "cfutex.h"

#include <limits.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

void coreai_futex_wait(const void *address, uint32_t expected) {
    syscall(SYS_futex, address, FUTEX_WAIT_PRIVATE, expected, NULL, NULL, 0);
}

void coreai_futex_wake(const void *address, int count) {
    syscall(SYS_futex, address, FUTEX_WAKE_PRIVATE, count, NULL, NULL, 0);
}

uint64_t coreai_monotonic_ns(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

int coreai_current_processor(void) { return sched_getcpu(); }

/* Which processors a thread may use, as the system keeps it: room for 8,192. */
typedef struct {
    unsigned long words[128];
    size_t byte_count; /* 0 if the system did not tell */
} processor_set;

/* The system call itself answers the size of the set; the library's function hides it. */
static processor_set processors_of_thread(void) {
    processor_set set;
    memset(&set, 0, sizeof set);
    long bytes = syscall(SYS_sched_getaffinity, 0, sizeof set.words, set.words);
    set.byte_count = bytes > 0 ? (size_t)bytes : 0;
    return set;
}

static int population(const processor_set *set) {
    int count = 0;
    for (size_t i = 0; i < sizeof set->words / sizeof *set->words; i++) count += __builtin_popcountl(set->words[i]);
    return count;
}

int coreai_allowed_processors(void) {
    processor_set set = processors_of_thread();
    int count = population(&set);
    if (count > 0) return count;
    long online = sysconf(_SC_NPROCESSORS_ONLN);
    return online > 0 ? (int)online : 1;
}

void coreai_name_thread(const char *name) { pthread_setname_np(pthread_self(), name); }

void coreai_leave_processor(int processor) {
    processor_set all = processors_of_thread();
    processor_set others = all;
    size_t bits = sizeof *others.words * CHAR_BIT;
    if (all.byte_count == 0 || processor < 0 || (size_t)processor >= all.byte_count * CHAR_BIT) return;
    others.words[(size_t)processor / bits] &= ~(1ul << ((size_t)processor % bits));
    if (population(&others) == 0) return;
    syscall(SYS_sched_setaffinity, 0, others.byte_count, others.words);
    syscall(SYS_sched_setaffinity, 0, all.byte_count, all.words);
}
