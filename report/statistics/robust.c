#include "robust.h"

#include <math.h>
#include <stdlib.h>

#define MAD_UNIT 0.6745

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

double robust_median(double *values, uint32_t count)
{
	if (count == 0)
		return 0;
	qsort(values, count, sizeof(*values), by_value);
	return (values[(count - 1) / 2] + values[count / 2]) / 2;
}

double robust_spread(double *values, uint32_t count)
{
	double median = robust_median(values, count);

	for (uint32_t i = 0; i < count; i++)
		values[i] = fabs(values[i] - median);
	return robust_median(values, count) / MAD_UNIT;
}

double robust_mean(double *values, uint32_t count)
{
	uint32_t cut = count / 8;
	double sum = 0;

	if (count == 0)
		return 0;
	qsort(values, count, sizeof(*values), by_value);
	for (uint32_t i = cut; i < count - cut; i++)
		sum += values[i];
	return sum / (count - 2 * cut);
}
