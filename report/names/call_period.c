#include "call_period.h"

#include <stdbool.h>

static bool is_alike(const uint32_t *kinds, uint32_t count, uint32_t period)
{
	const double most = (1 - CALL_PERIOD_ALIKE) * (count - period);
	uint32_t others = 0;

	for (uint32_t i = period; i < count && others <= most; i++)
		others += kinds[i] != kinds[i - period];
	return others <= most;
}

uint32_t call_period_find(const uint32_t *kinds, uint32_t count)
{
	for (uint32_t period = 1;
	     period <= count / CALL_PERIOD_TIMES && period <= CALL_PERIOD_MAX; period++)
		if (is_alike(kinds, count, period))
			return period;
	return 0;
}
