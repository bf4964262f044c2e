#include "launch_gate.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdint.h>

#include "inject/base/lifecycle.h"
#include "inject/base/monotonic.h"
#include "inject/base/nap.h"

#define HELD_NS  1000000000u /* a launch, or another thread that closes, at most */
#define CLOSE_NS 200000000u  /* for launches to end */
#define NAP_NS   20000

static struct {
	atomic_uint within; /* launches */
	atomic_bool closed, broken;
} self;

static __attribute__((noinline, cold)) void wait_outside(void)
{
	const uint64_t until_ns = monotonic_ns() + HELD_NS;
	int saved_errno = errno;

	while (atomic_load(&self.closed) && lifecycle_state() == LIFECYCLE_ON) {
		if (monotonic_ns() >= until_ns)
			atomic_store(&self.broken, true);
		if (atomic_load(&self.broken))
			break;
		nap(NAP_NS);
	}
	errno = saved_errno;
}

void launch_gate_enter(void)
{
	atomic_fetch_add(&self.within, 1);
	while (__builtin_expect(atomic_load(&self.closed), 0) && !atomic_load(&self.broken) &&
	       lifecycle_state() == LIFECYCLE_ON) {
		atomic_fetch_sub(&self.within, 1);
		wait_outside();
		atomic_fetch_add(&self.within, 1);
	}
}

/* The guest may have come in the middle of a launch. */
void launch_gate_exit(void)
{
	unsigned int within = atomic_load(&self.within);

	while (within && !atomic_compare_exchange_weak(&self.within, &within, within - 1))
		;
}

unsigned int launch_gate_within(void)
{
	return atomic_load(&self.within);
}

bool launch_gate_is_broken(void)
{
	return atomic_load(&self.broken);
}

/* Waits for another thread that keeps the gate closed. Returns whether this one has closed it. */
static bool take(void)
{
	const uint64_t until_ns = monotonic_ns() + HELD_NS;

	while (!launch_gate_is_broken()) {
		if (!atomic_exchange(&self.closed, true))
			return true;
		if (monotonic_ns() >= until_ns)
			atomic_store(&self.broken, true);
		nap(NAP_NS);
	}
	return false;
}

bool launch_gate_close(void)
{
	if (!take())
		return false;
	const uint64_t until_ns = monotonic_ns() + CLOSE_NS;

	while (atomic_load(&self.within)) {
		if (monotonic_ns() >= until_ns) {
			launch_gate_open();
			return false;
		}
		nap(NAP_NS);
	}
	return true;
}

void launch_gate_open(void)
{
	atomic_store(&self.closed, false);
}
