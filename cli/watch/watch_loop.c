#include "watch_loop.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "watch_hooks.h"

#include "aggregator/store/store_life.h"
#include "base/clock.h"
#include "base/error_text.h"
#include "base/log.h"
#include "cli/base/output_dir.h"
#include "report/profile/whole_profile.h"
#include "report/watch/watch_causes.h"
#include "report/watch/watch_look.h"

#define NS_PER_MS    1000000ull
#define LOCKED_LOOKS 10u
#define FAILED_LOOKS 10u            /* at the start, until that is said */
#define ABANDONED_NS 30000000000ull /* for so long a lost aggregator may have a successor */

struct watching {
	const struct watch_loop *loop;
	struct watch_events *events;
	struct watch_hooks hooks;
	char path[PATH_MAX]; /* of the store */
	bool seen;           /* the profile has been read once */
	bool ran;            /* a process was writing it then */
	bool compared;       /* collectives of all ranks, or stages, were there */
	uint32_t failures;   /* looks in a row that failed */
	uint64_t written_ns; /* the last time at which a process wrote the profile, or the begin */
};

/* ---- a look */

/* path: of the store that the look was made of. */
static int tell_all(struct watching *watching, const struct watch_look *look, const char *path)
{
	struct watch_event *list;
	uint32_t count;
	int error = watch_events_take(watching->events, look, clock_realtime_ns(), &list, &count);

	if (!error)
		watch_causes_add(path, list, count);
	for (uint32_t i = 0; i < count && !error; i++) {
		watch_hooks_start(&watching->hooks, &list[i], clock_now_ns());
		error = watching->loop->tell(watching->loop->context, &list[i]);
	}
	watch_events_free(list, count);
	return error;
}

/* Returns whether nobody has written the profile for so long that nobody will. */
static bool is_abandoned(const struct watching *watching, bool is_written)
{
	return !is_written &&
	       clock_now_ns() - watching->written_ns >
		       (watching->seen ? ABANDONED_NS : watching->loop->begin_wait_ns);
}

/* A profile that was never read and stays locked is on a file system of several hosts. */
static int explain_lock(const struct watching *watching, int status, char **error)
{
	if (status != -EBUSY || watching->seen || watching->failures < LOCKED_LOOKS)
		return 0;
	free(*error);
	*error = NULL;
	return error_text_set(error, status,
			      "%s: locked by its aggregator, because it is on a file system of "
			      "several hosts: it can be watched only on a host's own disk",
			      watching->path);
}

/* A reading may fail while an aggregator starts, ends or has a successor. It is told once. Returns 0, or the status if
 * it is final. */
static int take_failure(struct watching *watching, int status, bool abandoned, char **error)
{
	const bool is_locked = explain_lock(watching, status, error) != 0;

	watching->failures++;
	if (abandoned || is_locked)
		log_error("%s", *error ? *error : strerror(-status));
	else if (watching->failures == (watching->seen ? 1 : FAILED_LOOKS))
		log_warning("%s", *error ? *error : strerror(-status));
	return abandoned || is_locked ? status : 0;
}

/* Returns whether the job has ended; as look_once(). */
static int find_end(const struct watching *watching, bool closed, bool abandoned)
{
	if (closed || !abandoned)
		return closed;
	log_error("%s: its aggregator has ended without closing it", watching->path);
	return -ECANCELED;
}

/* Returns 1: the job has ended; 0; -errno. */
static int look_once(struct watching *watching)
{
	struct watch_look look = {.findings = NULL};
	struct whole_profile whole;
	char *error = NULL;
	int status = whole_profile_open(&whole, watching->path, &error), result;
	const bool is_written = whole.is_written;

	if (!status)
		status = watch_look_read(whole.path, &look, &error);
	if (is_written) {
		watching->written_ns = clock_now_ns();
		store_life_want(watching->path); /* for the next look */
	} else {
		store_life_want_no_more(watching->path);
	}
	const bool closed = !is_written && whole_profile_is_closed(watching->path);
	const bool abandoned = is_abandoned(watching, is_written);
	if (status) {
		result = take_failure(watching, status, abandoned, &error);
	} else {
		watching->seen = true;
		watching->ran |= is_written;
		watching->failures = 0;
		watching->compared |= look.compared > 0 || look.has_stages;
		result = tell_all(watching, &look, whole.path);
		if (!result)
			result = find_end(watching, closed, abandoned);
	}
	free(error);
	watch_look_fini(&look);
	whole_profile_close(&whole);
	return result;
}

/* ---- the loop */

/* Returns whether the watch is to stop. */
static bool wait_for_next(struct watching *watching, uint64_t cost_ns)
{
	struct pollfd stop = {.fd = watching->loop->stop, .events = POLLIN};
	uint64_t wait_ms = cost_ns * WATCH_LOOP_COST / NS_PER_MS;

	wait_ms = wait_ms < WATCH_LOOP_MS ? WATCH_LOOP_MS : wait_ms;
	wait_ms = wait_ms > WATCH_LOOP_MAX_MS ? WATCH_LOOP_MAX_MS : wait_ms;
	const uint64_t until_ns = clock_now_ns() + wait_ms * NS_PER_MS;
	do {
		watch_hooks_look(&watching->hooks, clock_now_ns());
		if (poll(&stop, 1, WATCH_LOOP_MS / 10) > 0)
			return true;
	} while (clock_now_ns() < until_ns);
	return false;
}

int watch_loop_run(const struct watch_loop *loop)
{
	struct watching watching = {
		.loop = loop,
		.events = watch_events_create(),
		.hooks = {.command = loop->command, .profile = loop->profile_path},
		.written_ns = clock_now_ns(),
	};
	char buffer[PATH_MAX];
	int status = watching.events ? 0 : -ENOMEM;
	bool stopped = false;

	while (status == 0 && !stopped) {
		const uint64_t began_ns = clock_thread_ns();

		/* The directory may be made meanwhile. */
		strcpy(watching.path, output_dir_store(loop->profile_path, buffer));
		status = look_once(&watching);
		if (status == 0)
			stopped = wait_for_next(&watching, clock_thread_ns() - began_ns);
	}
	if (status == 1 && !watching.ran)
		log_notice("%s: the job has ended: `flamegrid report %s --straggler` has it all",
			   loop->profile_path, loop->profile_path);
	else if (status == 1 && !watching.compared)
		log_notice("%s: no collective of all ranks was seen, so nobody could be late",
			   loop->profile_path);
	watch_hooks_finish(&watching.hooks, loop->linger_ns, loop->stop);
	watch_events_destroy(watching.events);
	return status == 1 ? 0 : status;
}
