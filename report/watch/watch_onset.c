#include "watch_onset.h"

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
