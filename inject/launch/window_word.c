#include "window_word.h"

#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <sched.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "inject/base/launch_word.h"
#include "inject/base/monotonic.h"

#define LET_OUT_NS 1000000 /* for the way from the gate out of a callback */

LAUNCH_WORD atomic_uint window_word;

static _Atomic uint32_t nr_waiting; /* at the gate */

void window_word_wake(void)
{
	syscall(SYS_futex, &window_word, FUTEX_WAKE_PRIVATE, INT_MAX, NULL, NULL, 0);
}

void window_word_close_gate(void)
{
	atomic_fetch_or(&window_word, WINDOW_WORD_GATE);
}

void window_word_open_gate(void)
{
	atomic_fetch_and(&window_word, ~(unsigned int)WINDOW_WORD_GATE);
	window_word_wake();
}

static void wait_on_word(unsigned int value)
{
	const struct timespec timeout = {.tv_nsec = WINDOW_WORD_GATE_NS};

	syscall(SYS_futex, &window_word, FUTEX_WAIT_PRIVATE, value, &timeout, NULL, 0);
}

void window_word_wait_at_gate(void)
{
	uint64_t until_ns = monotonic_ns() + WINDOW_WORD_GATE_NS;
	int saved_errno = errno;

	atomic_fetch_add(&nr_waiting, 1);
	for (;;) {
		unsigned int word = atomic_load(&window_word);

		if (!(word & WINDOW_WORD_GATE) || monotonic_ns() >= until_ns)
			break;
		wait_on_word(word);
	}
	atomic_fetch_sub(&nr_waiting, 1);
	errno = saved_errno;
}

void window_word_let_out(void)
{
	uint64_t until_ns = monotonic_ns() + WINDOW_WORD_GATE_NS;
	bool waited = false;

	window_word_open_gate();
	while (atomic_load(&nr_waiting) != 0 && monotonic_ns() < until_ns) {
		waited = true;
		sched_yield();
	}
	if (waited)
		nanosleep(&(struct timespec){.tv_nsec = LET_OUT_NS}, NULL);
}
