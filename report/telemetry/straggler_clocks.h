/* Says whether a late rank's kernels are slower because its GPU ran at a lower clock than the others', and what held
 * it down. A GPU that waits within NCCL's kernels draws less power and may run faster, so a difference of clocks alone
 * is no cause. It has to explain at least half of what the kernels take longer. Used by one thread. */
#ifndef STRAGGLER_CLOCKS_H
#define STRAGGLER_CLOCKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "proto/device_telemetry.h"
#include "report/profile/profile.h"

#define STRAGGLER_CLOCKS_LEAST 0.02 /* a lower clock by a smaller part is none */
/* A reason that held the late GPU for a part of its work that is not longer by this explains nothing. */
#define STRAGGLER_CLOCKS_HELD 0.1

struct straggler_clocks {
	/* Means while not idle, of the others the median. 0: the clock is no cause. */
	uint32_t late_mhz, others_mhz;
	enum telemetry_reason reason; /* TELEMETRY_FREE: none that held the others for less time */
	double share;                 /* of its work, in which that reason held */
};

/* What is compared. */
struct straggler_clocks_question {
	const uint32_t *processes; /* the late one first; nr is 2 at least */
	uint32_t nr;
	double longer; /* by what part the late rank's kernels take longer, where it is late */
	/* the time in which it is late, CLOCK_REALTIME; end_ns 0: all of the run. Clocks are known for stretches of it
	 * (telemetry_sums.h), and those count that have time in it. */
	uint64_t start_ns, end_ns;
};

/* Compares the GPU that does most of the first process's work with those of the others. 0; -ENOMEM. In any case *clocks
 * is set. */
int straggler_clocks_find(const struct profile *profile,
			  const struct straggler_clocks_question *question,
			  struct straggler_clocks *clocks);

/* If the clock is a cause, appends
 * ", its GPU ran at 1,410 MHz, the others at 1,980 (power cap 62 % of the time)". */
void straggler_clocks_text(const struct straggler_clocks *clocks, char *text, size_t size);

#endif
