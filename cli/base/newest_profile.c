#include "newest_profile.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "profile_list.h"

#include "aggregator/store/database.h"
#include "aggregator/store/store_life.h"
#include "base/clock.h"
#include "report/profile/profile_parts.h"

#define NS_PER_S 1000000000ull

/* ---- what a profile is good for */

/* Returns whether files beside the store have a part of the profile. */
static bool has_parts(const char *store)
{
	struct profile_parts parts;
	char *error = NULL;
	bool are_several =
		profile_parts_find(&parts, store, &error) == 0 && profile_parts_are_several(&parts);

	free(error);
	profile_parts_fini(&parts);
	return are_several;
}

enum use { USE_FULL, USE_WRITTEN, USE_NONE };

static enum use use_of(const char *store, const char **reason)
{
	static const char sql[] =
		"SELECT EXISTS (SELECT 1 FROM totals) OR EXISTS (SELECT 1 FROM total_blocks)"
		" OR EXISTS (SELECT 1 FROM processes WHERE launches > 0 OR records > 0)"
		" OR EXISTS (SELECT 1 FROM host_samples) OR EXISTS (SELECT 1 FROM collectives)"
		" OR EXISTS (SELECT 1 FROM api_calls WHERE cbid <> 4294967295)"
		" OR EXISTS (SELECT 1 FROM messages)";
	struct database *database;
	int64_t has_work = 0;

	*reason = NULL;
	if (access(store, R_OK) != 0) {
		*reason = strerror(errno);
		return USE_NONE;
	}
	if (store_life_is_written(store)) {
		*reason = "it is still being written";
		return USE_WRITTEN;
	}
	if (has_parts(store))
		return USE_FULL;
	int error = database_open(store, true, &database, NULL);
	if (!error)
		error = database_query_number(database, sql, &has_work);
	database_close(database);
	if (error)
		*reason = error == -EPROTO ? "it is damaged, or no profile" : strerror(-error);
	else if (!has_work)
		*reason = "nothing was recorded in it";
	return error || !has_work ? USE_NONE : USE_FULL;
}

uint32_t newest_profile_find(const char *directory, newest_profile_left_out *tell,
			     char path[static PATH_MAX], uint64_t *age_s)
{
	const uint64_t now_ns = clock_realtime_ns();
	const char *reason;
	enum use best = USE_NONE + 1;
	uint32_t nr, chosen = 0;
	struct listed_profile *all = profile_list(directory, &nr);

	*path = '\0';
	*age_s = 0;
	for (uint32_t i = 0; i < nr && best != USE_FULL; i++) {
		enum use use = use_of(all[i].store, &reason);

		chosen = use < best ? i : chosen;
		best = use < best ? use : best;
	}
	for (uint32_t i = 0; i < chosen && tell; i++) {
		use_of(all[i].store, &reason);
		tell(all[i].path, reason ? reason : "it was not finished a moment ago");
	}
	if (nr) {
		memcpy(path, all[chosen].path, PATH_MAX);
		*age_s = now_ns > all[chosen].time_ns ? (now_ns - all[chosen].time_ns) / NS_PER_S
						      : 0;
	}
	free(all);
	return nr;
}

bool newest_profile_live(const char *directory, char path[static PATH_MAX])
{
	uint32_t nr;
	struct listed_profile *all = profile_list(directory, &nr);

	*path = '\0';
	for (uint32_t i = 0; i < nr && !*path; i++)
		if (access(all[i].store, R_OK) == 0 && store_life_is_written(all[i].store))
			memcpy(path, all[i].path, PATH_MAX);
	free(all);
	return *path != '\0';
}

const char *newest_profile_age(uint64_t age_s, char text[static NEWEST_PROFILE_AGE_SIZE])
{
	static const struct {
		uint64_t s;
		const char *name;
	} units[] = {{86400, "day"}, {3600, "hour"}, {60, "minute"}, {1, "second"}};
	size_t i = 0;

	while (i < 3 && age_s < units[i].s)
		i++;
	uint64_t count = age_s / units[i].s;
	snprintf(text, NEWEST_PROFILE_AGE_SIZE, "%" PRIu64 " %s%s ago", count, units[i].name,
		 count == 1 ? "" : "s");
	return text;
}
