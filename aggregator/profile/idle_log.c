#include "idle_log.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"

struct idle_log {
	struct idle_device *devices; /* by id less one, as processes */
	struct idle_samples *processes;
	uint32_t nr_devices, nr_processes;
};

struct idle_log *idle_log_create(void)
{
	return calloc(1, sizeof(struct idle_log));
}

void idle_log_destroy(struct idle_log *log)
{
	if (!log)
		return;
	for (uint32_t i = 0; i < log->nr_devices; i++) {
		struct idle_device *device = &log->devices[i];

		for (uint32_t block = 0; block < device->nr_full; block++)
			free(device->full[block].work);
		free(device->full);
		free(device->block.work);
	}
	for (uint32_t i = 0; i < log->nr_processes; i++)
		free(log->processes[i].recent);
	free(log->devices);
	free(log->processes);
	free(log);
}

static int get_device(struct idle_log *log, uint32_t id, struct idle_device **device)
{
	int error = array_reserve_zeroed(&log->devices, &log->nr_devices, id, sizeof(**device));

	*device = error ? NULL : &log->devices[id - 1];
	return error;
}

static int get_samples(struct idle_log *log, uint32_t id, struct idle_samples **samples)
{
	int error =
		array_reserve_zeroed(&log->processes, &log->nr_processes, id, sizeof(**samples));

	*samples = error ? NULL : &log->processes[id - 1];
	return error;
}

/* ---- samples */

/* On the common clock. Sums that no clock has stick at its ends. */
static uint32_t level_of(const struct host_sample *sample, int64_t realtime_offset_ns)
{
	uint64_t start_ns =
		sample->time_ns > sample->duration_ns ? sample->time_ns - sample->duration_ns : 0;
	uint64_t offset_ns = (uint64_t)realtime_offset_ns;
	uint64_t from_ns = start_ns + offset_ns, to_ns = sample->time_ns + offset_ns;

	return from_ns <= to_ns ? kept_window_level_of(from_ns, to_ns) : kept_window_level(to_ns);
}

/* Removes the samples that do not stay at the next level. */
static void raise_level(struct idle_samples *samples)
{
	uint32_t count = 0;

	samples->nr_samples -= samples->counts[samples->level];
	samples->counts[samples->level++] = 0;
	samples->raised = true;
	for (uint32_t i = 0; i < samples->nr_recent; i++)
		if (samples->recent[i].level >= samples->level)
			samples->recent[count++] = samples->recent[i];
	samples->nr_recent = count;
}

int idle_log_sample(struct idle_log *log, uint32_t process, const struct host_sample *sample,
		    int64_t realtime_offset_ns)
{
	struct idle_samples *samples;
	int error = get_samples(log, process, &samples);

	if (error || sample->kind == HOST_SAMPLE_CALL)
		return error;
	uint32_t level = level_of(sample, realtime_offset_ns);
	while (samples->nr_samples >= IDLE_LOG_SAMPLES_MAX &&
	       samples->level < KEPT_WINDOW_LEVELS - 1)
		raise_level(samples);
	if (level < samples->level || samples->nr_samples >= IDLE_LOG_SAMPLES_MAX)
		return 0;
	if (array_reserve(&samples->recent, &samples->room_recent, samples->nr_recent + 1,
			  sizeof(*samples->recent)))
		return -ENOMEM;
	samples->recent[samples->nr_recent++] = (struct idle_sample){*sample, (uint8_t)level};
	samples->nr_samples++;
	samples->counts[level]++;
	return 0;
}

uint32_t idle_log_level(const struct idle_log *log, uint32_t process)
{
	return process && process <= log->nr_processes ? log->processes[process - 1].level : 0;
}

/* ---- work */

bool idle_log_has_begun(const struct idle_log *log, uint32_t device)
{
	return device <= log->nr_devices && log->devices[device - 1].begun;
}

bool idle_log_wants(const struct idle_log *log, uint32_t process, uint32_t device)
{
	return idle_log_has_begun(log, device) ||
	       (process <= log->nr_processes && log->processes[process - 1].nr_samples > 0);
}

/* Sets the full block aside and begins the next one. */
static int end_block(struct idle_device *device)
{
	struct idle_block *block = &device->block;

	if (array_reserve(&device->full, &device->room_full, device->nr_full + 1,
			  sizeof(*device->full)))
		return -ENOMEM;
	block->count = idle_work_merge(block->work, block->count);
	device->nr_pieces += block->count;
	device->full[device->nr_full++] = *block;
	*block = (struct idle_block){.index = block->index + 1};
	return 0;
}

int idle_log_work(struct idle_log *log, uint32_t id, const struct idle_work *work, uint64_t last_ns)
{
	struct idle_device *device;
	int error = get_device(log, id, &device);

	if (error)
		return error;
	if (!device->begun) {
		device->begun = true;
		device->from_ns = last_ns;
		device->to_ns = UINT64_MAX;
	}
	device->changed = true;
	if (device->nr_pieces >= IDLE_LOG_WORK_MAX) {
		if (work->start_ns < device->to_ns)
			device->to_ns = work->start_ns;
		return 0;
	}
	if (!device->block.work) {
		device->block.work = malloc(IDLE_LOG_BLOCK * sizeof(*work));
		if (!device->block.work)
			return -ENOMEM;
	}
	device->block.work[device->block.count++] = *work;
	return ++device->block.records == IDLE_LOG_BLOCK ? end_block(device) : 0;
}

/* ---- the store */

struct idle_device *idle_log_devices(struct idle_log *log, uint32_t *count)
{
	for (uint32_t i = 0; i < log->nr_devices; i++) {
		struct idle_block *block = &log->devices[i].block;

		if (log->devices[i].changed)
			block->count = idle_work_merge(block->work, block->count);
	}
	*count = log->nr_devices;
	return log->devices;
}

const struct idle_samples *idle_log_processes(const struct idle_log *log, uint32_t *count)
{
	*count = log->nr_processes;
	return log->processes;
}

void idle_log_saved(struct idle_log *log)
{
	for (uint32_t i = 0; i < log->nr_devices; i++) {
		struct idle_device *device = &log->devices[i];

		for (uint32_t block = 0; block < device->nr_full; block++)
			free(device->full[block].work);
		device->nr_full = 0;
		device->changed = false;
	}
	for (uint32_t i = 0; i < log->nr_processes; i++) {
		struct idle_samples *samples = &log->processes[i];
		uint32_t levels = 0;

		for (uint32_t j = 0; j < samples->nr_recent; j++)
			levels |= 1u << samples->recent[j].level;
		samples->nr_blocks += (uint32_t)__builtin_popcount(levels);
		samples->nr_recent = 0;
		samples->raised = false;
	}
}

int idle_log_load_device(struct idle_log *log, uint32_t id, uint64_t from_ns, uint64_t to_ns,
			 uint32_t nr_blocks, uint64_t nr_pieces)
{
	struct idle_device *device;
	int error = get_device(log, id, &device);

	if (error)
		return error;
	if (device->begun)
		return -EINVAL;
	device->begun = true;
	device->from_ns = from_ns;
	device->to_ns = to_ns;
	device->block.index = nr_blocks;
	device->nr_pieces = nr_pieces;
	return 0;
}

int idle_log_load_block(struct idle_log *log, uint32_t id, const struct idle_block *block)
{
	if (!idle_log_has_begun(log, id))
		return -EINVAL;

	struct idle_device *device = &log->devices[id - 1];
	if (device->block.work || block->index != device->block.index ||
	    block->records >= IDLE_LOG_BLOCK || block->count > block->records)
		return -EINVAL;
	device->block = *block;
	device->block.work = malloc(IDLE_LOG_BLOCK * sizeof(*block->work));
	if (!device->block.work)
		return -ENOMEM;
	if (block->count)
		memcpy(device->block.work, block->work, block->count * sizeof(*block->work));
	return 0;
}

int idle_log_load_samples(struct idle_log *log, uint32_t process, uint32_t level,
			  uint32_t nr_blocks, uint64_t nr_samples)
{
	struct idle_samples *samples;
	int error = get_samples(log, process, &samples);

	if (error)
		return error;
	if (level < samples->level || level >= KEPT_WINDOW_LEVELS || samples->counts[level] ||
	    nr_samples > IDLE_LOG_SAMPLES_MAX - samples->nr_samples)
		return -EINVAL;
	if (nr_blocks > samples->nr_blocks)
		samples->nr_blocks = nr_blocks;
	samples->counts[level] = nr_samples;
	samples->nr_samples += nr_samples;
	return 0;
}

int idle_log_load_level(struct idle_log *log, uint32_t process, uint32_t level)
{
	struct idle_samples *samples;
	int error = get_samples(log, process, &samples);

	if (error)
		return error;
	if (level >= KEPT_WINDOW_LEVELS || samples->level || samples->nr_samples)
		return -EINVAL;
	samples->level = level;
	return 0;
}
