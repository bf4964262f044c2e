#include "placement_log.h"

#include <errno.h>
#include <stdlib.h>

#include "base/array.h"

/* Samples of a device that were dropped. */
struct dropped {
	uint32_t device;
	uint64_t samples;
};

struct placement_log {
	struct placement_device *devices;   /* owns */
	struct placement_thread *threads;   /* owns */
	struct placement_link *links;       /* owns */
	struct device_telemetry *telemetry; /* owns */
	struct counter_state *states;       /* owns */
	struct counter_sample *counters;    /* owns */
	struct dropped *dropped;            /* owns; of few devices */
	uint32_t nr_devices, nr_threads, nr_links, nr_telemetry, nr_states;
	uint32_t nr_counters, room_counters, nr_dropped;
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
	free(log->dropped);
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

static struct dropped *find_dropped(struct placement_log *log, uint32_t device)
{
	for (uint32_t i = 0; i < log->nr_dropped; i++)
		if (log->dropped[i].device == device)
			return &log->dropped[i];
	return NULL;
}

int placement_log_drop_counters(struct placement_log *log, uint32_t device)
{
	const struct dropped first = {device, 1};
	struct dropped *dropped = find_dropped(log, device);

	if (!dropped)
		return array_append(&log->dropped, &log->nr_dropped, &first, sizeof(first));
	dropped->samples++;
	return 0;
}

static uint64_t without(uint64_t number, uint64_t less)
{
	return number > less ? number - less : 0;
}

int placement_log_add_counter_state(struct placement_log *log, const struct counter_state *state)
{
	const struct dropped *dropped = find_dropped(log, state->device_id);
	struct counter_state of = *state;

	if (dropped) {
		of.samples = without(of.samples, dropped->samples);
		of.kept = without(of.kept, dropped->samples);
		of.dropped = of.dropped > INT64_MAX - dropped->samples
				     ? INT64_MAX
				     : of.dropped + dropped->samples;
	}
	return array_append(&log->states, &log->nr_states, &of, sizeof(of));
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
