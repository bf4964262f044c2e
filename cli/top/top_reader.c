#include "top_reader.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"
#include "base/clock.h"
#include "cli/base/output_dir.h"
#include "report/names/clean_text.h"
#include "report/profile/profile_sums.h"

static void say(struct top_reading *reading, const char *text)
{
	free(reading->message);
	reading->message = clean_text_of(text, strlen(text));
}

static void reading_fini(struct top_reading *reading)
{
	top_sums_destroy(reading->sums);
	watch_events_free(reading->late, reading->nr_late);
	free(reading->message);
	*reading = (struct top_reading){.status = 0};
}

/* ---- one reading */

static bool wants(const void *context, uint64_t key)
{
	const struct top_reader *reader = context;

	return reader->wants_all || top_keys_has(&reader->wanted, key);
}

static int read_sums(struct top_reader *reader, char **error)
{
	const struct top_wants chosen = {wants, reader};
	const struct top_sums *last = reader->now.sums;
	struct top_reading *next = &reader->next;
	struct profile_sums from;
	int status = profile_sums_load(reader->follow.whole.path, &from, error);

	if (!status)
		status = top_sums_create(&from, &chosen, &next->sums);
	profile_sums_fini(&from);
	if (status || !last)
		return status;
	if (top_sums_is_same(next->sums, last)) {
		top_sums_follow(next->sums, last);
		return 0;
	}
	/* It has other ranks. */
	watch_events_destroy(reader->events);
	reader->events = NULL;
	say(next, "another profile is in the place of the last one");
	return 0;
}

/* Of a profile that nobody writes no rank is late now. */
static int read_late(struct top_reader *reader, char **error)
{
	struct top_reading *next = &reader->next;
	struct watch_look look = {.findings = NULL};
	struct watch_event *list;
	uint32_t count;

	if (!next->is_written)
		return 0;
	if (!reader->events)
		reader->events = watch_events_create();
	int status =
		reader->events ? watch_look_read(reader->follow.whole.path, &look, error) : -ENOMEM;
	const uint64_t now_ns = clock_realtime_ns();
	if (!status)
		status = watch_events_take(reader->events, &look, now_ns, &list, &count);
	if (!status) {
		watch_events_free(list, count);
		status = watch_events_current(reader->events, now_ns, &next->late, &next->nr_late);
	}
	watch_look_fini(&look);
	return status;
}

/* Changes nothing of now. */
static void make_next(struct top_reader *reader)
{
	const uint64_t began_ns = clock_thread_ns();
	struct profile_follow *follow = &reader->follow;
	struct top_reading *next = &reader->next;
	struct stat info = {0};
	enum log_level level;
	char *error = NULL;
	int status = profile_follow_open(follow, &error);

	stat(follow->path, &info);
	*next = (struct top_reading){
		.device = info.st_dev, .file = info.st_ino, .is_written = follow->whole.is_written};
	if (!status)
		status = read_sums(reader, &error);
	if (!status)
		status = read_late(reader, &error);
	const int result = profile_follow_close(follow, status, &error, &level);
	if (error || status)
		say(next, error ? error : strerror(-status));
	free(error);
	next->has_ended = result != 0;
	next->is_abandoned = result == -ECANCELED;
	next->status = result == 1 || result == -ECANCELED ? 0 : result;
	next->cost_ns = clock_thread_ns() - began_ns;
}

/* A reading that failed leaves what was read before. */
static void take_next(struct top_reader *reader)
{
	struct top_reading *next = &reader->next;

	if (!next->sums) {
		next->sums = reader->now.sums;
		reader->now.sums = NULL;
	}
	reading_fini(&reader->now);
	reader->now = *next;
	*next = (struct top_reading){.status = 0};
}

static int want(struct top_reader *reader, const struct top_keys *wanted)
{
	struct top_keys *own = &reader->wanted;

	reader->wants_all = !wanted;
	own->count = 0;
	if (!wanted || !wanted->count)
		return 0;
	if (array_reserve(&own->keys, &own->room, wanted->count, sizeof(*own->keys)))
		return -ENOMEM;
	memcpy(own->keys, wanted->keys, wanted->count * sizeof(*own->keys));
	own->count = wanted->count;
	return 0;
}

void top_reader_read(struct top_reader *reader, const struct top_keys *wanted)
{
	if (want(reader, wanted))
		reader->wanted.count = 0; /* their kernels are missing */
	make_next(reader);
	take_next(reader);
}

/* ---- in a thread */

static void *run(void *context)
{
	struct top_reader *reader = context;

	make_next(reader);
	close(reader->done[1]);
	return NULL;
}

int top_reader_start(struct top_reader *reader, const struct top_keys *wanted)
{
	sigset_t all, before;
	int error = want(reader, wanted);

	if (error)
		return error;
	if (pipe2(reader->done, O_CLOEXEC) < 0)
		return -errno;
	/* Signals are for the thread that draws. */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	error = -pthread_create(&reader->thread, NULL, run, reader);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	reader->is_reading = !error;
	if (error) {
		close(reader->done[0]);
		close(reader->done[1]);
	}
	return error;
}

void top_reader_finish(struct top_reader *reader)
{
	pthread_join(reader->thread, NULL);
	close(reader->done[0]);
	reader->is_reading = false;
	take_next(reader);
}

/* ---- */

bool top_reader_is_replaced(const struct top_reader *reader)
{
	char buffer[PATH_MAX];
	struct stat info;

	return stat(output_dir_store(reader->follow.profile_path, buffer), &info) == 0 &&
	       (info.st_dev != reader->now.device || info.st_ino != reader->now.file);
}

struct top_facts top_reader_facts(const struct top_reader *reader, const char *profile)
{
	const struct top_reading *now = &reader->now;

	return (struct top_facts){
		.profile = profile,
		.state = now->is_written     ? "running"
			 : now->is_abandoned ? "lost"
			 : now->has_ended    ? "ended"
					     : "not written",
		.message = now->message,
		.is_running = now->is_written,
		.knows_late = now->is_written,
		.late = now->late,
		.nr_late = now->nr_late,
		.now_ns = clock_realtime_ns(),
	};
}

void top_reader_fini(struct top_reader *reader)
{
	if (reader->is_reading)
		top_reader_finish(reader);
	reading_fini(&reader->now);
	watch_events_destroy(reader->events);
	free(reader->wanted.keys);
}
