#include "step_ticks.h"

#include <string.h>

/* Keeps each second tick. */
static void thin(struct step_ticks *ticks)
{
	const uint32_t skip = (uint32_t)(ticks->first / ticks->apart % 2);

	for (uint32_t i = 0; i < STEP_TICKS_MOST; i++) {
		const uint32_t from = 2 * i + skip;

		ticks->begins_ns[i] = from < STEP_TICKS_MOST ? ticks->begins_ns[from] : 0;
	}
	ticks->first += skip * ticks->apart;
	ticks->apart *= 2;
}

/* The number of indexes that a step below the first one needs in front of it. */
static uint64_t indexes_before(const struct step_ticks *ticks, uint32_t number)
{
	return (ticks->first - number / ticks->apart * ticks->apart) / ticks->apart;
}

static bool has_room(const struct step_ticks *ticks, uint32_t number)
{
	uint32_t nr = STEP_TICKS_MOST;

	if (number >= ticks->first)
		return (number - ticks->first) / ticks->apart < STEP_TICKS_MOST;
	while (nr && !ticks->begins_ns[nr - 1])
		nr--;
	return indexes_before(ticks, number) + nr <= STEP_TICKS_MOST;
}

static void lower(struct step_ticks *ticks, uint32_t number)
{
	const size_t shift = (size_t)indexes_before(ticks, number);

	memmove(ticks->begins_ns + shift, ticks->begins_ns,
		(STEP_TICKS_MOST - shift) * sizeof(*ticks->begins_ns));
	memset(ticks->begins_ns, 0, shift * sizeof(*ticks->begins_ns));
	ticks->first = number;
}

void step_ticks_note(struct step_ticks *ticks, uint32_t number, uint64_t begin_ns)
{
	if (!ticks->apart) {
		ticks->apart = 1;
		ticks->first = number;
	}
	while (!has_room(ticks, number))
		thin(ticks);
	if (number % ticks->apart)
		return;
	if (number < ticks->first)
		lower(ticks, number);
	uint64_t *known_ns = &ticks->begins_ns[(number - ticks->first) / ticks->apart];

	if (!*known_ns || begin_ns < *known_ns)
		*known_ns = begin_ns;
}

void step_ticks_add(struct step_ticks *ticks, const struct timeline_launch *launch)
{
	if (launch->flags & RECORD_LAUNCH_MARK && launch->mark == RECORD_MARK_STEP)
		step_ticks_note(ticks, launch->correlation_id, launch->time_ns);
}
