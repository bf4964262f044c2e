#include "placement_log.h"

#include <errno.h>
#include <stdlib.h>

#include "base/array.h"

struct placement_log {
	struct placement_device *devices;   /* owns */
	struct placement_thread *threads;   /* owns */
	struct placement_link *links;       /* owns */
	struct device_telemetry *telemetry; /* owns */
	uint32_t nr_devices, nr_threads, nr_links, nr_telemetry;
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

void placement_log_saved(struct placement_log *log)
{
	log->nr_devices = log->nr_threads = log->nr_links = log->nr_telemetry = 0;
}
