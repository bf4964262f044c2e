/* A training of ranks that work, and then wait in an all_reduce that moves data for a millisecond. Times are those of
 * host calls; each rank has a clock of its own. Asserts that everything works. */
#ifndef WATCHED_JOB_H
#define WATCHED_JOB_H

#include <stdint.h>

#include "report/watch/watch_look.h"

#define RANKS 8u
#define MS    1000000ull
#define HOUR  (3600 * 1000 * MS)
#define WORLD 0xfeedull
#define WORK  100 /* ms, as long as nothing else is set */

struct watched {
	uint32_t processes[RANKS], steps;
	uint64_t now_ns, seed;
	double work_ms;
};

extern struct watched watched;

/* Fixtures of cmocka: all ranks on one host, or on two. job_tear_down() ends both. */
int watched_set_up(void **state);
int watched_set_up_hosts(void **state);

/* Returns a time by the rank's own clock. */
uint64_t watched_clock(uint32_t rank, uint64_t true_ns);

/* Ranks from first to last work so many ms longer; noise in ms. */
void watched_train_late(uint32_t steps, uint32_t first, uint32_t last, double late_ms,
			double noise_ms);

/* The same of rank 5. */
void watched_train(uint32_t steps, double late_ms, double noise_ms);

/* Commits, and looks. The caller calls watch_look_fini(). */
struct watch_look watched_look(void);

#endif
