#include "watch_steps.h"

#include <errno.h>
#include <stdlib.h>

#include "report/names/call_period.h"

static int by_value(const void *a, const void *b)
{
	const double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* Returns the least of the long times: it is furthest, by factor, from the one below it. 0: none are. */
static double least_long(const double *sorted, uint32_t count)
{
	double all = 0, above = 0, most = WATCH_STEPS_APART, least = 0;

	for (uint32_t i = 0; i < count; i++)
		all += sorted[i];
	for (uint32_t i = count; i-- > 1;) {
		above += sorted[i];
		if (count - i < CALL_PERIOD_TIMES || sorted[i] < most * sorted[i - 1] ||
		    WATCH_STEPS_PART * above < all)
			continue;
		most = sorted[i - 1] > 0 ? sorted[i] / sorted[i - 1] : most;
		least = sorted[i];
	}
	return least;
}

/* Returns the median of so many distances in a row: one of them may be uneven, the last one, too. sorted: room for as
 * many as there are distances. */
static uint32_t usual_sum(const uint32_t *distances, uint32_t count, uint32_t in_row,
			  double *sorted)
{
	const uint32_t sums = count - in_row + 1;

	for (uint32_t i = 0; i < sums; i++) {
		sorted[i] = 0;
		for (uint32_t j = 0; j < in_row; j++)
			sorted[i] += distances[i + j];
	}
	qsort(sorted, sums, sizeof(*sorted), by_value);
	return (uint32_t)sorted[sums / 2];
}

/* Returns how many long times are a step. An uneven distance differs from both of its neighbours, so what is usual of
 * single ones comes first. 0: none are. */
static uint32_t find_long_ones(const uint32_t *distances, uint32_t count, double *sorted)
{
	uint32_t alike = 0;

	if (count < CALL_PERIOD_TIMES)
		return 0;
	const uint32_t usual = usual_sum(distances, count, 1, sorted);
	for (uint32_t i = 0; i < count; i++)
		alike += distances[i] == usual;
	return alike >= CALL_PERIOD_ALIKE * count ? 1 : call_period_find(distances, count);
}

uint32_t watch_steps_of_times(const double *times_ns, uint32_t count, double *sorted,
			      uint32_t *distances)
{
	uint32_t nr = 0, last = 0;

	for (uint32_t i = 0; i < count; i++)
		sorted[i] = times_ns[i];
	qsort(sorted, count, sizeof(*sorted), by_value);
	const double least = least_long(sorted, count);
	for (uint32_t i = 0; i < count && least > 0; i++) {
		if (times_ns[i] < least)
			continue;
		if (nr++)
			distances[nr - 2] = i - last;
		last = i;
	}
	const uint32_t nr_distances = nr ? nr - 1 : 0;
	const uint32_t long_ones = find_long_ones(distances, nr_distances, sorted);
	return long_ones ? usual_sum(distances, nr_distances, long_ones, sorted) : 1;
}

int watch_steps_find(const struct watch_recent *recent, uint32_t first, uint32_t end,
		     uint32_t *collectives)
{
	const uint32_t count = end - first;
	uint32_t *kinds = calloc(count + 1ul, sizeof(*kinds));
	double *times_ns = calloc(2ul * count + 2, sizeof(*times_ns));

	*collectives = 0;
	if (kinds && times_ns) {
		for (uint32_t i = 0; i < count; i++)
			kinds[i] = recent->meetings[first + i].kind;
		const uint32_t period = call_period_find(kinds, count);
		uint32_t nr = 0;

		for (uint32_t i = first; period && i + period < end; i += period)
			times_ns[nr++] = (double)recent->called_ns[i + period] -
					 (double)recent->called_ns[i];
		*collectives =
			period * watch_steps_of_times(times_ns, nr, times_ns + count + 1, kinds);
	}
	const int error = kinds && times_ns ? 0 : -ENOMEM;
	free(kinds);
	free(times_ns);
	return error;
}
