#include "top_reader.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "cli/base/output_dir.h"
#include "report/names/clean_text.h"
#include "report/profile/profile_sums.h"

static void say(struct top_reader *reader, const char *text)
{
	free(reader->message);
	reader->message = text ? clean_text_of(text, strlen(text)) : NULL;
}

static void forget_late(struct top_reader *reader)
{
	watch_events_free(reader->late, reader->nr_late);
	reader->late = NULL;
	reader->nr_late = 0;
}

/* Another profile has other ranks. */
static void begin_anew(struct top_reader *reader)
{
	top_sums_destroy(reader->sums);
	reader->sums = NULL;
	forget_late(reader);
	watch_events_destroy(reader->events);
	reader->events = NULL;
}

static int take_sums(struct top_reader *reader, const struct top_wants *wants, char **error)
{
	struct profile_sums from;
	struct top_sums *sums = NULL;
	int status = profile_sums_load(reader->follow.whole.path, &from, error);

	if (!status)
		status = top_sums_create(&from, wants, &sums);
	profile_sums_fini(&from);
	if (status)
		return status;
	if (reader->sums && !top_sums_is_same(sums, reader->sums)) {
		begin_anew(reader);
		say(reader, "another profile is in the place of the last one");
	}
	if (reader->sums)
		top_sums_follow(sums, reader->sums);
	top_sums_destroy(reader->sums);
	reader->sums = sums;
	return 0;
}

/* Of a profile that nobody writes no rank is late now. */
static int take_late(struct top_reader *reader, char **error)
{
	struct watch_look look = {.findings = NULL};
	struct watch_event *list = NULL;
	uint32_t count;

	forget_late(reader);
	if (!reader->is_written)
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
		status = watch_events_current(reader->events, now_ns, &reader->late,
					      &reader->nr_late);
	}
	watch_look_fini(&look);
	return status;
}

static void remember_file(struct top_reader *reader)
{
	struct stat info = {0};

	stat(reader->follow.path, &info);
	reader->device = info.st_dev;
	reader->file = info.st_ino;
}

int top_reader_read(struct top_reader *reader, const struct top_wants *wants)
{
	const uint64_t began_ns = clock_thread_ns();
	struct profile_follow *follow = &reader->follow;
	enum log_level level;
	char *error = NULL;

	say(reader, NULL);
	int status = profile_follow_open(follow, &error);
	remember_file(reader);
	reader->is_written = follow->whole.is_written;
	if (!status)
		status = take_sums(reader, wants, &error);
	if (!status)
		status = take_late(reader, &error);
	int result = profile_follow_close(follow, status, &error, &level);
	if (status && !error)
		say(reader, strerror(-status));
	else if (error)
		say(reader, error);
	free(error);
	reader->cost_ns = clock_thread_ns() - began_ns;
	reader->has_ended = result != 0;
	reader->is_abandoned = result == -ECANCELED;
	return result == 1 || result == -ECANCELED ? 0 : result;
}

bool top_reader_is_replaced(const struct top_reader *reader)
{
	char buffer[PATH_MAX];
	struct stat info;

	return stat(output_dir_store(reader->follow.profile_path, buffer), &info) == 0 &&
	       (info.st_dev != reader->device || info.st_ino != reader->file);
}

struct top_facts top_reader_facts(const struct top_reader *reader, const char *profile)
{
	return (struct top_facts){
		.profile = profile,
		.state = reader->is_written     ? "running"
			 : reader->is_abandoned ? "lost"
			 : reader->has_ended    ? "ended"
						: "not written",
		.message = reader->message,
		.is_running = reader->is_written,
		.knows_late = reader->is_written,
		.late = reader->late,
		.nr_late = reader->nr_late,
		.now_ns = clock_realtime_ns(),
	};
}

void top_reader_fini(struct top_reader *reader)
{
	begin_anew(reader);
	say(reader, NULL);
}
