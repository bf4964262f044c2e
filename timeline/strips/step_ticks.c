#include "step_ticks.h"

/* Keeps each second tick. */
static void thin(struct step_ticks *ticks)
{
	for (uint32_t i = 0; i < STEP_TICKS_MOST; i++)
		ticks->begins_ns[i] = i < STEP_TICKS_MOST / 2 ? ticks->begins_ns[2 * i] : 0;
	ticks->apart *= 2;
}

void step_ticks_add(struct step_ticks *ticks, const struct timeline_launch *launch)
{
	const uint32_t number = launch->correlation_id;

	if (!(launch->flags & RECORD_LAUNCH_MARK) || launch->mark != RECORD_MARK_STEP)
		return;
	if (!ticks->apart)
		ticks->apart = 1;
	while (number / ticks->apart >= STEP_TICKS_MOST)
		thin(ticks);
	if (number % ticks->apart)
		return;
	uint64_t *begin_ns = &ticks->begins_ns[number / ticks->apart];

	if (!*begin_ns || launch->time_ns < *begin_ns)
		*begin_ns = launch->time_ns;
}
