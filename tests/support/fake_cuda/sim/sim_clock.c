#include "sim_clock.h"

#include <sched.h>
#include <stdatomic.h>
#include <time.h>

#include "sim_config.h"

#define NS_PER_S 1000000000ull
#define SPIN_NS  60000ull /* a sleep overshoots by about this much */

static _Atomic uint64_t floor_ns; /* how far the clock was moved forward; 0 in real time */

static uint64_t realtime_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return (uint64_t)now.tv_sec * NS_PER_S + (uint64_t)now.tv_nsec;
}

uint64_t sim_clock_now(void)
{
	uint64_t now_ns = realtime_ns();
	uint64_t least_ns = atomic_load_explicit(&floor_ns, memory_order_relaxed);

	return now_ns > least_ns ? now_ns : least_ns;
}

uint64_t sim_clock_host_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * NS_PER_S + (uint64_t)now.tv_nsec;
}

void sim_clock_spend(uint64_t begin_ns, uint64_t ns)
{
	while (sim_clock_host_ns() - begin_ns < ns)
		;
}

static void jump_to(uint64_t end_ns)
{
	uint64_t old_ns = atomic_load(&floor_ns);

	while (old_ns < end_ns && !atomic_compare_exchange_weak(&floor_ns, &old_ns, end_ns))
		;
}

void sim_clock_wait(uint64_t end_ns)
{
	uint64_t now_ns;

	if (!sim_config_get(SIM_REALTIME)) {
		jump_to(end_ns);
		return;
	}
	while ((now_ns = sim_clock_now()) < end_ns) {
		uint64_t left_ns = end_ns - now_ns;

		if (left_ns > SPIN_NS) {
			left_ns -= SPIN_NS;
			struct timespec pause = {.tv_sec = (time_t)(left_ns / NS_PER_S),
						 .tv_nsec = (long)(left_ns % NS_PER_S)};
			nanosleep(&pause, NULL);
		} else {
			sched_yield();
		}
	}
}
