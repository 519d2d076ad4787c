/* What a thread pool needs of the system and Swift has no name for. Linux only. */
#ifndef COREAI_CFUTEX_H
#define COREAI_CFUTEX_H

#include <stddef.h>
#include <stdint.h>

#ifndef __clang__
#define _Nonnull
#endif

/* Sleeps while the 32-bit word at `address` is `expected`; may return early. The word belongs to this process alone. */
void coreai_futex_wait(const void *_Nonnull address, uint32_t expected);

/* Wakes at most `count` threads that sleep at `address`. */
void coreai_futex_wake(const void *_Nonnull address, int count);

/* Tells the processor that this thread spins. */
static inline void coreai_spin_hint(void) {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("isb" ::: "memory");
#endif
}

/* Nanoseconds of a clock that only goes forward. */
uint64_t coreai_monotonic_ns(void);

/* The processor this thread is on, or -1. */
int coreai_current_processor(void);

/* How many processors this thread may use, at least 1. */
int coreai_allowed_processors(void);

/* Which processors a thread may use, as the system keeps it. */
typedef struct {
    unsigned long words[128]; /* 8,192 processors; the system refuses to fill fewer than it has */
    size_t byte_count;        /* 0 if the system did not tell */
} coreai_processor_set;

/* Those this thread may use. */
coreai_processor_set coreai_processors_of_thread(void);

/* Names this thread, for tools that list threads; at most 15 characters. */
void coreai_name_thread(const char *_Nonnull name);

/* The system's number of this thread. */
int coreai_thread_number(void);

/* Lets a thread use `set` without `processor`. Does nothing if none would remain. */
void coreai_avoid_processor(int thread_number, const coreai_processor_set *_Nonnull set, int processor);

#endif
