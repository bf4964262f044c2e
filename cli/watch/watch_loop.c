#include "watch_loop.h"

#include <errno.h>
#include <poll.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "profile_follow.h"
#include "watch_hooks.h"

#include "base/clock.h"
#include "base/log.h"
#include "report/digest/report_refusal.h"
#include "report/watch/watch_causes.h"
#include "report/watch/watch_look.h"

#define NS_PER_MS 1000000ull

struct watching {
	const struct watch_loop *loop;
	struct watch_events *events;
	struct watch_hooks hooks;
	struct profile_follow follow;
	bool compared; /* collectives of all ranks, or stages, were there */
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

/* Returns 1: the job has ended; 0; -errno. */
static int look_once(struct watching *watching)
{
	struct watch_look look = {.findings = NULL};
	struct profile_follow *follow = &watching->follow;
	enum log_level level;
	char *error = NULL;
	int told = 0, status = profile_follow_open(follow, &error);

	if (!status)
		status = watch_look_read(follow->whole.path, &look, &error);
	if (!status) {
		watching->compared |= look.compared > 0 || look.has_stages;
		told = tell_all(watching, &look, follow->whole.path);
	}
	int result = profile_follow_close(follow, status, &error, &level);
	if (level && !told)
		log_write(level, "%s", error ? error : strerror(ENOMEM));
	free(error);
	watch_look_fini(&look);
	return told ? told : result;
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

/* Of a job that has ended: where to look if it ran at no look, or why nothing was told. */
static void say_end(const struct watching *watching)
{
	const char *path = watching->loop->profile_path;

	if (!watching->follow.ran && profile_follow_is_part(&watching->follow))
		log_notice("%s: the job has ended; of late ranks " REPORT_REFUSAL_PART, path);
	else if (!watching->follow.ran)
		log_notice("%s: the job has ended: `flamegrid report %s --straggler` has it all",
			   path, path);
	else if (!watching->compared)
		log_notice("%s: no collective of all ranks was seen, so nobody could be late",
			   path);
}

int watch_loop_run(const struct watch_loop *loop)
{
	struct watching watching = {
		.loop = loop,
		.events = watch_events_create(),
		.hooks = {.command = loop->command, .profile = loop->profile_path},
		.follow = {.profile_path = loop->profile_path,
			   .begin_wait_ns = loop->begin_wait_ns},
	};
	int status = watching.events ? 0 : -ENOMEM;
	bool stopped = false;

	while (status == 0 && !stopped) {
		const uint64_t began_ns = clock_thread_ns();

		status = look_once(&watching);
		if (status == 0)
			stopped = wait_for_next(&watching, clock_thread_ns() - began_ns);
	}
	if (status == 1)
		say_end(&watching);
	watch_hooks_finish(&watching.hooks, loop->linger_ns, loop->stop);
	watch_events_destroy(watching.events);
	return status == 1 ? 0 : status;
}
