#include "profile_follow.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "aggregator/store/database.h"
#include "aggregator/store/store_life.h"
#include "aggregator/store/store_timeline.h"
#include "base/clock.h"
#include "base/error_text.h"
#include "cli/base/output_dir.h"

#define LOCKED_LOOKS 10u
#define FAILED_LOOKS 10u            /* at the start, until that is said */
#define ABANDONED_NS 30000000000ull /* for so long a lost aggregator may have a successor */

int profile_follow_open(struct profile_follow *follow, char **error)
{
	char buffer[PATH_MAX];

	if (!follow->written_ns)
		follow->written_ns = clock_now_ns();
	/* The directory may be made meanwhile. */
	strcpy(follow->path, output_dir_store(follow->profile_path, buffer));
	return whole_profile_open(&follow->whole, follow->path, false, error);
}

/* Returns whether nobody has written the profile for so long that nobody will. */
static bool is_abandoned(const struct profile_follow *follow)
{
	return !follow->whole.is_written &&
	       clock_now_ns() - follow->written_ns >
		       (follow->seen ? ABANDONED_NS : follow->begin_wait_ns);
}

/* A profile that was never read and stays locked is on a file system of several hosts. */
static int explain_lock(const struct profile_follow *follow, int status, char **error)
{
	if (status != -EBUSY || follow->seen || follow->failures < LOCKED_LOOKS)
		return 0;
	free(*error);
	*error = NULL;
	return error_text_set(error, status,
			      "%s: locked by its aggregator, because it is on a file system of "
			      "several hosts: it can be watched only on a host's own disk",
			      follow->path);
}

/* Returns 0, or the status if it is final. */
static int take_failure(struct profile_follow *follow, int status, bool abandoned, char **error,
			enum log_level *level)
{
	const bool is_final = explain_lock(follow, status, error) != 0 || abandoned;

	follow->failures++;
	if (!*error)
		error_text_set(error, status, "%s", strerror(-status));
	if (is_final)
		*level = LOG_LEVEL_ERROR;
	else if (follow->failures == (follow->seen ? 1 : FAILED_LOOKS))
		*level = LOG_LEVEL_WARNING;
	return is_final ? status : 0;
}

/* Returns whether the job has ended; as profile_follow_close(). */
static int take_success(struct profile_follow *follow, bool abandoned, char **error,
			enum log_level *level)
{
	const bool is_written = follow->whole.is_written;

	follow->seen = true;
	follow->ran |= is_written;
	follow->failures = 0;
	if (!is_written && whole_profile_is_closed(follow->path))
		return 1;
	if (!abandoned)
		return 0;
	*level = LOG_LEVEL_ERROR;
	return error_text_set(error, -ECANCELED, "%s: its aggregator has ended without closing it",
			      follow->path);
}

int profile_follow_close(struct profile_follow *follow, int status, char **error,
			 enum log_level *level)
{
	*level = 0;
	if (follow->whole.is_written) {
		follow->written_ns = clock_now_ns();
		store_life_want(follow->path); /* for the next look */
	} else {
		store_life_want_no_more(follow->path);
	}
	const bool abandoned = is_abandoned(follow);
	int result = status ? take_failure(follow, status, abandoned, error, level)
			    : take_success(follow, abandoned, error, level);

	whole_profile_close(&follow->whole);
	return result;
}

bool profile_follow_is_part(const struct profile_follow *follow)
{
	struct database *database;
	bool is_part = false;

	if (database_open(follow->path, true, &database, NULL) == 0 &&
	    store_timeline_is_slice(database, &is_part) < 0)
		is_part = false;
	database_close(database);
	return is_part;
}
