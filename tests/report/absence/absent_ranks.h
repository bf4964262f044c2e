/* A job of eight ranks on two hosts, some of which do not come to a collective. Every call is asserted. */
#ifndef ABSENT_RANKS_H
#define ABSENT_RANKS_H

#include "tests/report/straggler/straggler_fixture.h"

#define RANKS  8u
#define MS     1000000ull
#define S      (1000 * MS)
#define WORLD  1u
#define TENSOR 2u
#define DATA   3u
#define ALL    0xffu
#define EPOCH  (1700000000 * S) /* CLOCK_REALTIME at the begin of the job */
#define AHEAD  (40 * S)         /* the second host's clock, of the first one's */

/* Each collective comes 100 ms after the one before. Kernels of the last one have not ended where ranks lack. */
struct absent_job {
	uint32_t processes[RANKS], calls[RANKS][DATA + 1], correlation_ids[RANKS];
	uint64_t now_ns;
};

extern struct absent_job absent_job;
extern struct report_straggler *absent_report; /* what absent_find() found last */

/* cmocka's set-up and tear-down. */
int absent_set_up(void **state);
int absent_tear_down(void **state);

/* A rank's process with its communicators. */
void absent_start(uint32_t rank);

/* All of them, and a comparison of their hosts' clocks. */
void absent_start_all(void);

/* A rank's call now, and its kernel if that ends. */
void absent_call(uint32_t rank, uint32_t communicator, bool ends, uint64_t ns);

/* A collective of the ranks of a communicator that have a bit. */
void absent_meet(uint32_t communicator, uint32_t ranks, bool ends);

/* Steps of all ranks, each with a collective of each communicator. */
void absent_train(uint32_t steps);

/* Ends the ranks that have a bit so many seconds after the newest calls. */
void absent_end(uint32_t ranks, enum job_ending ending, uint64_t after_s);

/* Commits, and says who is late. */
const struct report_straggler *absent_find(void);
const char *absent_line_of(void);
void absent_assert_nobody(void);

/* A rank's clock so long after the job's begin. */
uint64_t absent_own_clock(uint32_t rank, uint64_t ns);

#endif
