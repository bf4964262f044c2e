#include "placement_log.h"

#include <errno.h>
#include <stdlib.h>

#define ROOM_FIRST 32u

struct placement_log {
	struct placement_device *devices; /* owns */
	struct placement_thread *threads; /* owns */
	uint32_t nr_devices, max_devices, nr_threads, max_threads;
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
	free(log);
}

int placement_log_add_device(struct placement_log *log, const struct placement_device *device)
{
	if (log->nr_devices == log->max_devices) {
		uint32_t max = log->max_devices ? 2 * log->max_devices : ROOM_FIRST;
		struct placement_device *more = realloc(log->devices, max * sizeof(*more));

		if (!more)
			return -ENOMEM;
		log->devices = more;
		log->max_devices = max;
	}
	log->devices[log->nr_devices++] = *device;
	return 0;
}

int placement_log_add_thread(struct placement_log *log, const struct placement_thread *thread)
{
	if (log->nr_threads == log->max_threads) {
		uint32_t max = log->max_threads ? 2 * log->max_threads : ROOM_FIRST;
		struct placement_thread *more = realloc(log->threads, max * sizeof(*more));

		if (!more)
			return -ENOMEM;
		log->threads = more;
		log->max_threads = max;
	}
	log->threads[log->nr_threads++] = *thread;
	return 0;
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

void placement_log_saved(struct placement_log *log)
{
	log->nr_devices = log->nr_threads = 0;
}
