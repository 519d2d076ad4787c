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

/* Names this thread, for tools that list threads; at most 15 characters. */
void coreai_name_thread(const char *_Nonnull name);

/* Moves this thread to another of its processors, if it has one. It may come back. */
void coreai_leave_processor(int processor);

#endif
