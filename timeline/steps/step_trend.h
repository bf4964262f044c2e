/* Tells whether the steps of a rank get slower or faster over the run. Pure; used by one thread. */
#ifndef STEP_TREND_H
#define STEP_TREND_H

#include <stdbool.h>
#include <stdint.h>

#include "step_rows.h"

#define STEP_TREND_STEPS 64u /* fewer have no trend */

/* A trend: the medians of 8 to 32 equal parts of the run rise or fall. By the test of Mann and Kendall that is by
 * chance in 1 of 1,000 runs. Theil and Sen's line through them changes by a twentieth or more. */
struct step_trend {
	uint32_t sum;
	uint64_t begin_ns, end_ns; /* of that line */
	enum step_part part; /* that changed most in this direction: last quarter less first one */
};

/* indexes are those of nr rows, at least STEP_TREND_STEPS; they are brought into order of time. Returns
 * whether there is a trend; *trend is then set, but for its sum. */
bool step_trend_find(const struct step_rows *rows, uint32_t *indexes, uint32_t nr,
		     struct step_trend *trend);

#endif
