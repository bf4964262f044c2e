#include "clock_refine.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* Knowledge passes from host to host in one round each; later rounds gain little. */
#define ROUNDS_MAX 8u

/* The tightest claims of a round's collectives, sorted. */
struct claims {
	int64_t highs[CLOCK_REFINE_CONFIRMED], lows[CLOCK_REFINE_CONFIRMED];
};

static bool is_possible(int64_t ns)
{
	return ns <= CLOCK_REFINE_NS_MAX && ns >= -CLOCK_REFINE_NS_MAX;
}

static bool are_possible(const struct clock_refine_part *parts, uint32_t nr_parts,
			 const struct clock_refine_bounds *bounds, uint32_t nr_bounds)
{
	for (uint32_t i = 0; i < nr_parts; i++)
		if (parts[i].bounds >= nr_bounds || parts[i].start_ns > parts[i].end_ns ||
		    parts[i].end_ns > (uint64_t)CLOCK_REFINE_NS_MAX ||
		    parts[i].slack_ns > (uint64_t)CLOCK_REFINE_NS_MAX)
			return false;
	for (uint32_t i = 0; i < nr_bounds; i++)
		if (bounds[i].low_ns > bounds[i].high_ns || !is_possible(bounds[i].low_ns) ||
		    !is_possible(bounds[i].high_ns))
			return false;
	return true;
}

static uint32_t end_of(const struct clock_refine_part *parts, uint32_t nr_parts, uint32_t begin)
{
	uint32_t end = begin + 1;

	while (end < nr_parts && parts[end].collective == parts[begin].collective)
		end++;
	return end;
}

/* Inserts a claim among the lowest. */
static void keep_low(int64_t claims[static CLOCK_REFINE_CONFIRMED], int64_t claim)
{
	for (uint32_t i = 0; i < CLOCK_REFINE_CONFIRMED; i++)
		if (claim < claims[i]) {
			int64_t next = claims[i];

			claims[i] = claim;
			claim = next;
		}
}

static void take_collective(const struct clock_refine_part *parts, uint32_t count,
			    const struct clock_refine_bounds *bounds, struct claims *claims)
{
	int64_t begun = INT64_MIN, ended = INT64_MAX;

	for (uint32_t i = 0; i < count; i++) {
		const struct clock_refine_bounds *of = &bounds[parts[i].bounds];
		int64_t slack = (int64_t)parts[i].slack_ns;
		int64_t start = (int64_t)parts[i].start_ns - slack - of->high_ns;
		int64_t end = (int64_t)parts[i].end_ns + slack - of->low_ns;

		begun = start > begun ? start : begun;
		ended = end < ended ? end : ended;
	}
	for (uint32_t i = 0; i < count; i++) {
		struct claims *of = &claims[parts[i].bounds];
		int64_t slack = (int64_t)parts[i].slack_ns;

		keep_low(of->highs, (int64_t)parts[i].end_ns + slack - begun);
		keep_low(of->lows, ended - ((int64_t)parts[i].start_ns - slack));
	}
}

/* *moved: a bound became narrower. */
static int play_round(const struct clock_refine_part *parts, uint32_t nr_parts,
		      struct clock_refine_bounds *bounds, uint32_t nr_bounds, struct claims *claims,
		      bool *moved)
{
	const uint32_t last = CLOCK_REFINE_CONFIRMED - 1;

	for (uint32_t i = 0; i < nr_bounds; i++)
		for (uint32_t j = 0; j <= last; j++)
			claims[i].highs[j] = claims[i].lows[j] = INT64_MAX;
	for (uint32_t begin = 0, end; begin < nr_parts; begin = end) {
		end = end_of(parts, nr_parts, begin);
		take_collective(parts + begin, end - begin, bounds, claims);
	}
	*moved = false;
	for (uint32_t i = 0; i < nr_bounds; i++) {
		struct clock_refine_bounds *of = &bounds[i];

		if (claims[i].highs[last] < of->high_ns) {
			of->high_ns = claims[i].highs[last];
			*moved = true;
		}
		if (-claims[i].lows[last] > of->low_ns) {
			of->low_ns = -claims[i].lows[last];
			*moved = true;
		}
		if (of->low_ns > of->high_ns)
			return -ERANGE;
	}
	return 0;
}

int clock_refine(const struct clock_refine_part *parts, uint32_t nr_parts,
		 struct clock_refine_bounds *bounds, uint32_t nr_bounds)
{
	struct claims *claims = NULL;
	struct clock_refine_bounds *known = NULL;
	bool moved = true;
	int error = 0;

	if (!are_possible(parts, nr_parts, bounds, nr_bounds))
		return -EINVAL;
	for (uint32_t i = 0; i < nr_bounds; i++)
		bounds[i].nr_used = 0;
	for (uint32_t i = 0; i < nr_parts; i++)
		bounds[parts[i].bounds].nr_used++;
	if (nr_bounds == 0)
		return 0;
	claims = malloc(nr_bounds * sizeof(*claims));
	known = malloc(nr_bounds * sizeof(*known));
	if (!claims || !known)
		error = -ENOMEM;
	if (!error)
		memcpy(known, bounds, nr_bounds * sizeof(*known));
	for (uint32_t i = 0; i < ROUNDS_MAX && moved && !error; i++)
		error = play_round(parts, nr_parts, bounds, nr_bounds, claims, &moved);
	if (error == -ERANGE)
		memcpy(bounds, known, nr_bounds * sizeof(*known));
	free(claims);
	free(known);
	return error;
}
