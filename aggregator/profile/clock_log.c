#include "clock_log.h"

#include <errno.h>
#include <stdlib.h>

#include "base/array.h"

struct clock_log {
	struct clock_offset *offsets; /* owns */
	uint32_t count;
};

struct clock_log *clock_log_create(void)
{
	return calloc(1, sizeof(struct clock_log));
}

void clock_log_destroy(struct clock_log *log)
{
	if (!log)
		return;
	free(log->offsets);
	free(log);
}

int clock_log_add(struct clock_log *log, const struct clock_offset *offset)
{
	return array_append(&log->offsets, &log->count, offset, sizeof(*offset));
}

const struct clock_offset *clock_log_offsets(const struct clock_log *log, uint32_t *count)
{
	*count = log->count;
	return log->offsets;
}

void clock_log_saved(struct clock_log *log)
{
	log->count = 0;
}
