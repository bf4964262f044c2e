#include "weighted_median.h"

#include <stdlib.h>

static int by_value(const void *a, const void *b)
{
	double x = ((const struct weighted_value *)a)->value;
	double y = ((const struct weighted_value *)b)->value;

	return (x > y) - (x < y);
}

double weighted_median(struct weighted_value *values, uint32_t count)
{
	double whole = 0, sum = 0;

	if (count == 0)
		return 0;
	qsort(values, count, sizeof(*values), by_value);
	for (uint32_t i = 0; i < count; i++)
		whole += values[i].weight;
	for (uint32_t i = 0; i < count; i++) {
		sum += values[i].weight;
		if (2 * sum >= whole)
			return values[i].value;
	}
	return values[count - 1].value;
}
