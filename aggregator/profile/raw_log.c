#include "raw_log.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"

struct raw_log {
	bool wanted;
	struct raw_sample *samples; /* owns, as clocks */
	struct raw_clock *clocks;
	uint32_t nr_samples, room_samples, nr_clocks;
};

struct raw_log *raw_log_create(void)
{
	return calloc(1, sizeof(struct raw_log));
}

void raw_log_destroy(struct raw_log *log)
{
	if (!log)
		return;
	free(log->samples);
	free(log->clocks);
	free(log);
}

void raw_log_start(struct raw_log *log)
{
	log->wanted = true;
}

bool raw_log_is_kept(const struct raw_log *log)
{
	return log->wanted;
}

int raw_log_add(struct raw_log *log, uint32_t process, const struct host_sample *sample)
{
	if (!log->wanted)
		return 0;
	if (array_reserve(&log->samples, &log->room_samples, log->nr_samples + 1,
			  sizeof(*log->samples)))
		return -ENOMEM;
	log->samples[log->nr_samples++] = (struct raw_sample){process, *sample};
	return 0;
}

int raw_log_clock(struct raw_log *log, uint32_t host, int64_t realtime_offset_ns)
{
	if (host == 0 || realtime_offset_ns == 0)
		return 0;
	if (array_reserve_zeroed(&log->clocks, &log->nr_clocks, host, sizeof(*log->clocks)))
		return -ENOMEM;
	if (log->clocks[host - 1].realtime_offset_ns == 0)
		log->clocks[host - 1].realtime_offset_ns = realtime_offset_ns;
	return 0;
}

int64_t raw_log_offset(const struct raw_log *log, uint32_t host)
{
	return host && host <= log->nr_clocks ? log->clocks[host - 1].realtime_offset_ns : 0;
}

int raw_log_load_clock(struct raw_log *log, uint32_t host, int64_t realtime_offset_ns)
{
	int error = raw_log_clock(log, host, realtime_offset_ns);

	if (!error && raw_log_offset(log, host))
		log->clocks[host - 1].saved = true;
	return error;
}

const struct raw_sample *raw_log_samples(const struct raw_log *log, uint32_t *count)
{
	*count = log->nr_samples;
	return log->samples;
}

const struct raw_clock *raw_log_clocks(const struct raw_log *log, uint32_t *count)
{
	*count = log->nr_clocks;
	return log->clocks;
}

void raw_log_saved(struct raw_log *log)
{
	log->nr_samples = 0;
	for (uint32_t i = 0; i < log->nr_clocks; i++)
		log->clocks[i].saved = log->clocks[i].realtime_offset_ns != 0;
}
