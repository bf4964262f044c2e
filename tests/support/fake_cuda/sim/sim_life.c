#include "sim_life.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

static _Atomic int state = SIM_LIFE_NEW;

enum sim_life sim_life_state(void)
{
	return (enum sim_life)atomic_load_explicit(&state, memory_order_acquire);
}

static void in_child(void)
{
	atomic_store(&state, SIM_LIFE_FORKED);
}

static void at_exit(void)
{
	int ready = SIM_LIFE_READY;

	atomic_compare_exchange_strong(&state, &ready, SIM_LIFE_OVER);
}

void sim_life_start(void)
{
	pthread_atfork(NULL, NULL, in_child);
	atexit(at_exit);
	atomic_store_explicit(&state, SIM_LIFE_READY, memory_order_release);
}
