#include "commit_schedule.h"

#define NS_PER_MS 1000000u

void commit_schedule_note(struct commit_schedule *schedule, uint64_t frames)
{
	if (schedule->frames < frames)
		schedule->frames = frames;
}

static bool is_long(const struct commit_schedule *schedule)
{
	return schedule->cpu_ns >= (uint64_t)COMMIT_SCHEDULE_LONG_MS * NS_PER_MS;
}

void commit_schedule_date(struct commit_schedule *schedule, uint64_t now_ns, uint32_t interval_ms)
{
	if (schedule->dated || !schedule->changed)
		return;
	schedule->dated = true;
	schedule->at_ns =
		now_ns + (uint64_t)(interval_ms ?: COMMIT_SCHEDULE_INTERVAL_MS) * NS_PER_MS;
	const uint32_t apart_ms =
		schedule->late ? COMMIT_SCHEDULE_LATE_MS : COMMIT_SCHEDULE_APART_MS;
	uint64_t apart_ns = schedule->began_ns + (uint64_t)apart_ms * NS_PER_MS;
	if (!interval_ms && schedule->began_ns && schedule->at_ns < apart_ns)
		schedule->at_ns = apart_ns;
}

static uint64_t messages_of(const struct commit_schedule *schedule)
{
	return schedule->behind_bytes + schedule->bytes;
}

static uint64_t bytes_max(const struct commit_schedule *schedule)
{
	return COMMIT_SCHEDULE_BYTES +
	       (uint64_t)COMMIT_SCHEDULE_PROCESS_BYTES * schedule->nr_processes;
}

static uint64_t rows_max(const struct commit_schedule *schedule)
{
	return COMMIT_SCHEDULE_ROWS +
	       (uint64_t)COMMIT_SCHEDULE_PROCESS_ROWS * schedule->nr_processes;
}

static bool defines(const struct commit_schedule *schedule)
{
	return schedule->definition_bytes >= COMMIT_SCHEDULE_DEFINITIONS &&
	       schedule->definition_bytes > messages_of(schedule) / 2;
}

bool commit_schedule_is_due(const struct commit_schedule *schedule, uint64_t now_ns,
			    uint32_t nr_rows)
{
	if (commit_schedule_is_clean(schedule))
		return false;
	if (schedule->dated && now_ns >= schedule->at_ns)
		return true;
	if (schedule->failed)
		return false;
	if (schedule->follows)
		return true;
	if (schedule->behind && now_ns >= schedule->whole_ns)
		return true;
	if (schedule->hurry && now_ns >= schedule->hurry_ns)
		return schedule->changed;
	return schedule->changed &&
	       (schedule->frames >= COMMIT_SCHEDULE_FRAMES ||
		schedule->bytes >= COMMIT_SCHEDULE_BYTES || nr_rows >= rows_max(schedule));
}

bool commit_schedule_is_whole(const struct commit_schedule *schedule, uint64_t now_ns,
			      uint32_t nr_rows)
{
	return !commit_schedule_takes_messages(schedule) || schedule->hurry || schedule->follows ||
	       messages_of(schedule) >= bytes_max(schedule) || now_ns >= schedule->whole_ns ||
	       nr_rows >= rows_max(schedule) || defines(schedule);
}

/* After a failure the messages may find no room, where a whole commit frees some. */
bool commit_schedule_tells_first(const struct commit_schedule *schedule)
{
	return schedule->changed && !schedule->follows && !schedule->hurry && !schedule->failed &&
	       commit_schedule_takes_messages(schedule) && is_long(schedule) && !defines(schedule);
}

bool commit_schedule_heeds_readers(const struct commit_schedule *schedule, uint64_t now_ns)
{
	return now_ns >= schedule->wanted_ns;
}

bool commit_schedule_takes_messages(const struct commit_schedule *schedule)
{
	return !schedule->whole &&
	       messages_of(schedule) < bytes_max(schedule) + COMMIT_SCHEDULE_SPARE;
}

bool commit_schedule_is_clean(const struct commit_schedule *schedule)
{
	return !schedule->changed && !schedule->behind;
}

uint64_t commit_schedule_until(const struct commit_schedule *schedule, uint64_t until_ns)
{
	if (!commit_schedule_is_clean(schedule) && schedule->dated && schedule->at_ns < until_ns)
		until_ns = schedule->at_ns;
	if (schedule->failed)
		return until_ns;
	if (schedule->behind && schedule->whole_ns < until_ns)
		until_ns = schedule->whole_ns;
	if (schedule->changed && schedule->hurry && schedule->hurry_ns < until_ns)
		until_ns = schedule->hurry_ns;
	if (schedule->follows && schedule->began_ns < until_ns)
		until_ns = schedule->began_ns;
	return until_ns;
}

void commit_schedule_done(struct commit_schedule *schedule, uint64_t began_ns, uint64_t cpu_ns)
{
	const uint64_t most_ns = (uint64_t)COMMIT_SCHEDULE_WHOLE_MS * NS_PER_MS;
	uint64_t after_ns = cpu_ns * COMMIT_SCHEDULE_WHOLE_TIMES;
	uint64_t wanted_ns = cpu_ns * COMMIT_SCHEDULE_WANTED_TIMES;
	uint64_t hurry_ns = cpu_ns * COMMIT_SCHEDULE_HURRY_TIMES;

	if (hurry_ns > (uint64_t)COMMIT_SCHEDULE_APART_MS * NS_PER_MS)
		hurry_ns = (uint64_t)COMMIT_SCHEDULE_APART_MS * NS_PER_MS;
	if (wanted_ns > most_ns)
		wanted_ns = most_ns;
	if (after_ns > most_ns)
		after_ns = most_ns;
	else if (after_ns <= (uint64_t)COMMIT_SCHEDULE_APART_MS * NS_PER_MS)
		after_ns = 0;
	*schedule = (struct commit_schedule){.began_ns = began_ns,
					     .cpu_ns = cpu_ns,
					     .whole_ns = began_ns + after_ns,
					     .wanted_ns = began_ns + wanted_ns,
					     .hurry_ns = began_ns + hurry_ns,
					     .nr_processes = schedule->nr_processes};
}

void commit_schedule_logged(struct commit_schedule *schedule, uint64_t began_ns, bool follows)
{
	*schedule = (struct commit_schedule){
		.began_ns = began_ns,
		.cpu_ns = schedule->cpu_ns,
		.whole_ns = schedule->whole_ns,
		.wanted_ns = schedule->wanted_ns,
		.hurry_ns = schedule->hurry_ns,
		.behind = true,
		.follows = follows,
		.late = !schedule->behind && is_long(schedule),
		.behind_bytes = schedule->behind_bytes + schedule->bytes,
		.definition_bytes = schedule->definition_bytes,
		.nr_processes = schedule->nr_processes,
	};
}

void commit_schedule_fail(struct commit_schedule *schedule, uint64_t now_ns)
{
	schedule->failed = schedule->dated = true;
	schedule->at_ns = now_ns + (uint64_t)COMMIT_SCHEDULE_RETRY_MS * NS_PER_MS;
}
