#include "commit_schedule.h"

#define NS_PER_MS 1000000u

void commit_schedule_init(struct commit_schedule *schedule, uint32_t interval_ms)
{
	*schedule = (struct commit_schedule){
		.interval_ms = interval_ms ? interval_ms : COMMIT_SCHEDULE_INTERVAL_MS,
	};
}

void commit_schedule_start(struct commit_schedule *schedule, uint64_t now_ns)
{
	schedule->at_ns = now_ns + (uint64_t)schedule->interval_ms * NS_PER_MS;
}

bool commit_schedule_is_due(const struct commit_schedule *schedule, uint64_t now_ns, uint64_t bytes,
			    uint32_t nr_rows)
{
	if (!schedule->changed)
		return false;
	if (now_ns >= schedule->at_ns)
		return true;
	if (schedule->failed)
		return false;
	return schedule->hurry || schedule->frames >= COMMIT_SCHEDULE_FRAMES ||
	       bytes - schedule->bytes >= COMMIT_SCHEDULE_BYTES || nr_rows >= COMMIT_SCHEDULE_ROWS;
}

int commit_schedule_wait_ms(const struct commit_schedule *schedule, uint64_t now_ns)
{
	if (!schedule->changed)
		return COMMIT_SCHEDULE_IDLE_MS;
	if (now_ns >= schedule->at_ns)
		return 0;
	return (int)((schedule->at_ns - now_ns + NS_PER_MS - 1) / NS_PER_MS);
}

void commit_schedule_done(struct commit_schedule *schedule, uint64_t bytes)
{
	schedule->failed = schedule->changed = schedule->hurry = false;
	schedule->frames = 0;
	schedule->bytes = bytes;
}

void commit_schedule_fail(struct commit_schedule *schedule, uint64_t now_ns)
{
	schedule->failed = true;
	schedule->at_ns = now_ns + (uint64_t)COMMIT_SCHEDULE_RETRY_MS * NS_PER_MS;
}
