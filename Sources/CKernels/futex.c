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

/* The system call itself answers the size of the set; the library's function hides it. */
coreai_processor_set coreai_processors_of_thread(void) {
    coreai_processor_set set;
    memset(&set, 0, sizeof set);
    long bytes = syscall(SYS_sched_getaffinity, 0, sizeof set.words, set.words);
    set.byte_count = bytes > 0 ? (size_t)bytes : 0;
    return set;
}

static int population(const coreai_processor_set *set) {
    int count = 0;
    for (size_t i = 0; i < sizeof set->words / sizeof *set->words; i++) count += __builtin_popcountl(set->words[i]);
    return count;
}

int coreai_allowed_processors(void) {
    coreai_processor_set set = coreai_processors_of_thread();
    int count = population(&set);
    if (count > 0) return count;
    long online = sysconf(_SC_NPROCESSORS_ONLN);
    return online > 0 ? (int)online : 1;
}

void coreai_name_thread(const char *name) { pthread_setname_np(pthread_self(), name); }

int coreai_thread_number(void) { return (int)syscall(SYS_gettid); }

void coreai_avoid_processor(int thread_number, const coreai_processor_set *set, int processor) {
    coreai_processor_set rest = *set;
    size_t bits = sizeof *rest.words * CHAR_BIT;
    if (rest.byte_count == 0 || processor < 0 || (size_t)processor >= rest.byte_count * CHAR_BIT) return;
    rest.words[(size_t)processor / bits] &= ~(1ul << ((size_t)processor % bits));
    if (population(&rest) == 0) return;
    syscall(SYS_sched_setaffinity, thread_number, rest.byte_count, rest.words);
}
