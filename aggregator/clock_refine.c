#include "clock_refine.h"

#include <errno.h>
#include <stdlib.h>

#define SPAN_MAX (INT64_MAX / 4) /* 73 years: sums of two still fit */

static int by_value(const void *left, const void *right)
{
	const int64_t *a = left, *b = right;

	return (*a > *b) - (*a < *b);
}

/* What is beyond any clock is as far as they go: differences of hostile numbers must not wrap into the middle. */
static int64_t difference(const struct clock_refine_pair *pair)
{
	uint64_t far_ns = pair->first_ns > pair->second_ns ? pair->first_ns - pair->second_ns
							   : pair->second_ns - pair->first_ns;
	int64_t ns = far_ns < (uint64_t)SPAN_MAX ? (int64_t)far_ns : SPAN_MAX;

	return pair->first_ns > pair->second_ns ? ns : -ns;
}

/* The first of the half that lies closest together. */
static uint32_t find_shortest(const int64_t *sorted, uint32_t count, uint32_t half)
{
	uint32_t best = 0;

	for (uint32_t i = 1; i + half <= count; i++)
		if (sorted[i + half - 1] - sorted[i] < sorted[best + half - 1] - sorted[best])
			best = i;
	return best;
}

/* What both say: *result cut to what is known. */
static int cut(const struct clock_refine_result *known, int64_t low_ns, int64_t high_ns,
	       struct clock_refine_result *result)
{
	int64_t known_low = known->offset_ns - (int64_t)known->bound_ns;
	int64_t known_high = known->offset_ns + (int64_t)known->bound_ns;

	if (low_ns > known_high || high_ns < known_low) {
		*result = *known;
		return -ERANGE;
	}
	if (low_ns < known_low)
		low_ns = known_low;
	if (high_ns > known_high)
		high_ns = known_high;
	result->offset_ns = low_ns + (high_ns - low_ns) / 2;
	result->bound_ns = (uint64_t)(high_ns - low_ns + 1) / 2;
	return 0;
}

int clock_refine(const struct clock_refine_pair *pairs, uint32_t count, uint64_t end_spread_ns,
		 const struct clock_refine_result *known, struct clock_refine_result *result)
{
	uint32_t half = count / 2 + 1;

	*result = *known;
	if (count < CLOCK_REFINE_PAIRS_MIN || count > CLOCK_REFINE_PAIRS_MAX ||
	    end_spread_ns > (uint64_t)SPAN_MAX || known->bound_ns > (uint64_t)SPAN_MAX ||
	    known->offset_ns > SPAN_MAX || known->offset_ns < -SPAN_MAX)
		return -EINVAL;
	int64_t *sorted = malloc(count * sizeof(*sorted));
	if (!sorted)
		return -ENOMEM;
	for (uint32_t i = 0; i < count; i++)
		sorted[i] = difference(&pairs[i]);
	qsort(sorted, count, sizeof(*sorted), by_value);
	uint32_t first = find_shortest(sorted, count, half);
	int64_t low_ns = sorted[first] - (int64_t)end_spread_ns;
	int64_t high_ns = sorted[first + half - 1] + (int64_t)end_spread_ns;
	free(sorted);
	int status = cut(known, low_ns, high_ns, result);
	result->nr_used = half;
	return status;
}
