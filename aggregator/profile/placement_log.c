#include "placement_log.h"

#include <errno.h>
#include <stdlib.h>

#include "base/array.h"

struct placement_log {
	struct placement_device *devices;   /* owns */
	struct placement_thread *threads;   /* owns */
	struct placement_link *links;       /* owns */
	struct device_telemetry *telemetry; /* owns */
	struct counter_state *states;       /* owns */
	struct counter_sample *counters;    /* owns */
	uint32_t nr_devices, nr_threads, nr_links, nr_telemetry, nr_states;
	uint32_t nr_counters, room_counters;
};

struct placement_log *placement_log_create(void)
{
	return calloc(1, sizeof(struct placement_log));
}

void placement_log_destroy(struct placement_log *log)
{
	if (!log)
		return;
	free(log->devices);
	free(log->threads);
	free(log->links);
	free(log->telemetry);
	free(log->states);
	free(log->counters);
	free(log);
}

int placement_log_add_device(struct placement_log *log, const struct placement_device *device)
{
	return array_append(&log->devices, &log->nr_devices, device, sizeof(*device));
}

int placement_log_add_thread(struct placement_log *log, const struct placement_thread *thread)
{
	return array_append(&log->threads, &log->nr_threads, thread, sizeof(*thread));
}

int placement_log_add_link(struct placement_log *log, const struct placement_link *link)
{
	return array_append(&log->links, &log->nr_links, link, sizeof(*link));
}

int placement_log_add_telemetry(struct placement_log *log, const struct device_telemetry *telemetry)
{
	return array_append(&log->telemetry, &log->nr_telemetry, telemetry, sizeof(*telemetry));
}

int placement_log_add_counter_state(struct placement_log *log, const struct counter_state *state)
{
	return array_append(&log->states, &log->nr_states, state, sizeof(*state));
}

int placement_log_add_counters(struct placement_log *log, const struct counter_sample *sample)
{
	const int error = array_reserve(&log->counters, &log->room_counters,
					log->nr_counters + 1ull, sizeof(*log->counters));

	if (!error)
		log->counters[log->nr_counters++] = *sample;
	return error;
}

const struct placement_device *placement_log_devices(const struct placement_log *log,
						     uint32_t *count)
{
	*count = log->nr_devices;
	return log->devices;
}

const struct placement_thread *placement_log_threads(const struct placement_log *log,
						     uint32_t *count)
{
	*count = log->nr_threads;
	return log->threads;
}

const struct placement_link *placement_log_links(const struct placement_log *log, uint32_t *count)
{
	*count = log->nr_links;
	return log->links;
}

const struct device_telemetry *placement_log_telemetry(const struct placement_log *log,
						       uint32_t *count)
{
	*count = log->nr_telemetry;
	return log->telemetry;
}

const struct counter_state *placement_log_counter_states(const struct placement_log *log,
							 uint32_t *count)
{
	*count = log->nr_states;
	return log->states;
}

const struct counter_sample *placement_log_counters(const struct placement_log *log,
						    uint32_t *count)
{
	*count = log->nr_counters;
	return log->counters;
}

void placement_log_saved(struct placement_log *log)
{
	log->nr_devices = log->nr_threads = log->nr_links = log->nr_telemetry = 0;
	log->nr_states = log->nr_counters = 0;
}
