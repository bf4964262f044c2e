#include "watch_onset.h"

#include <stdlib.h>

uint32_t watch_onset_find(const double *values, uint32_t count)
{
	double all = 0, before = 0, best = 0;
	uint32_t onset = 0;

	for (uint32_t i = 0; i < count; i++)
		all += values[i];
	for (uint32_t i = 1; i < count && count - i >= count / WATCH_ONSET_PART; i++) {
		before += values[i - 1];
		double first = before / i, second = (all - before) / (count - i);
		double apart = second - first;

		if (apart <= 0 || first > second / 2)
			continue;
		double score = apart * apart * i * (count - i);
		if (score > best) {
			best = score;
			onset = i;
		}
	}
	return onset;
}

static int descending(const void *a, const void *b)
{
	const double x = *(const double *)a, y = *(const double *)b;

	return (x < y) - (x > y);
}

uint32_t watch_onset_over(const double *values, uint32_t count, uint32_t onset, double *sorted)
{
	const uint32_t nr = count > onset ? count - onset : 0;
	const uint32_t top = nr / WATCH_ONSET_PART ? nr / WATCH_ONSET_PART : 1;
	uint32_t over = count;

	for (uint32_t i = 0; i < nr; i++)
		sorted[i] = values[onset + i];
	qsort(sorted, nr, sizeof(*sorted), descending);
	const double level = nr ? sorted[top / 2] : 0;
	while (over > onset && values[over - 1] < level / 2)
		over--;
	return level > 0 && over > onset && count - over >= top ? over : count;
}
