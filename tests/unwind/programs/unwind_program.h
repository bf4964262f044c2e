/* A program for tests of stack walks: a chain of calls of all kinds, at whose end it asks its host
 * to look at the stack. Compiled by several compilers at several levels, each a shared library. */
#ifndef UNWIND_PROGRAM_H
#define UNWIND_PROGRAM_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct program_host {
	void (*probe)(void);
	/* From here on the thread runs on a stack that ends at high, in no other's; 0: on its own
	 * again. */
	void (*on_stack)(uintptr_t high);
	/* Calls and exceptions alone: no signals, fibers and jumps, which sanitizers do not bear. */
	int plain;
};

/* One chain of depth calls, chosen by seed. Any thread. Signals SIGUSR1 and, if the thread has an
 * alternate stack, SIGUSR2 are the program's. */
void program_run(const struct program_host *host, uint64_t seed, uint32_t depth);

/* Installs the signal handlers; once. */
void program_init(void);

/* Runs without probes until *stop is set, for signals from outside. */
void program_spin(const struct program_host *host, uint64_t seed, volatile int *stop);

/* ---- between the program's own two sources ---- */
#define PROGRAM_HIDDEN __attribute__((visibility("hidden"), noinline))

PROGRAM_HIDDEN void program_go(uint64_t seed, uint32_t depth);
PROGRAM_HIDDEN void program_go_cxx(uint64_t seed, uint32_t depth);

#ifdef __cplusplus
}
#endif
#endif
