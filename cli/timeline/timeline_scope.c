#include "timeline_scope.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "aggregator/profile/roster.h"
#include "base/log.h"

#define RANGES_MAX 8u /* further ones are not named */
#define TEXT_SIZE  256u

/* Writes the ranks that are there: "0-3,7"; "": none. */
static void write_ranks(const uint8_t *there, uint32_t nr_ranks, char text[static TEXT_SIZE])
{
	uint32_t nr = 0, rank = 0;
	int at = 0;

	*text = '\0';
	while (rank < nr_ranks) {
		const uint32_t first = rank;

		while (rank < nr_ranks && there[rank])
			rank++;
		if (rank == first) {
			rank++;
			continue;
		}
		if (nr++ == RANGES_MAX) {
			snprintf(text + at, TEXT_SIZE - (size_t)at, " and others");
			return;
		}
		at += snprintf(text + at, TEXT_SIZE - (size_t)at, "%s%" PRIu32, nr > 1 ? "," : "",
			       first);
		if (rank - 1 > first)
			at += snprintf(text + at, TEXT_SIZE - (size_t)at, "-%" PRIu32, rank - 1);
	}
}

bool timeline_scope_has_ranks(const struct timeline_scope *scope, const struct profile *profile)
{
	const struct roster *roster = profile->collection->roster;
	char text[TEXT_SIZE];
	bool has = !scope->ranks;

	if (has)
		return true;
	uint8_t *there = calloc(scope->nr_ranks, 1);
	for (uint32_t id = 1; there && id <= roster_size(roster).processes; id++) {
		const int32_t rank = roster_process(roster, id)->rank;

		if (rank < 0 || (uint32_t)rank >= scope->nr_ranks)
			continue;
		there[rank] = 1;
		has |= scope->ranks[rank] != 0;
	}
	if (there)
		write_ranks(there, scope->nr_ranks, text);
	if (!has && there && *text)
		log_error("%s: none of these ranks is in the profile, which has rank%s %s",
			  scope->name, strpbrk(text, ",- ") ? "s" : "", text);
	else if (!has && there)
		log_error("%s: none of these ranks is in the profile, of whose processes no rank "
			  "is known",
			  scope->name);
	has |= !there; /* no memory: whoever reads on says so */
	free(there);
	return has;
}

bool timeline_scope_has_time(const struct timeline_scope *scope)
{
	const uint64_t length_ns = scope->last_ns - scope->first_ns;

	if (!scope->last_ns || scope->from_ns <= length_ns)
		return true;
	log_error("%s: --from is behind the end: the timeline lasts %.3f s", scope->name,
		  (double)length_ns * 1e-9);
	return false;
}
