#include "idle_log.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"

struct idle_log {
	struct idle_device *devices; /* by id less one */
	uint32_t nr_devices;
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
	free(log->devices);
	free(log);
}

static int get_device(struct idle_log *log, uint32_t id, struct idle_device **device)
{
	int error = array_reserve_zeroed(&log->devices, &log->nr_devices, id, sizeof(**device));

	*device = error ? NULL : &log->devices[id - 1];
	return error;
}

/* ---- work */

bool idle_log_has_begun(const struct idle_log *log, uint32_t device)
{
	return device <= log->nr_devices && log->devices[device - 1].begun;
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

void idle_log_saved(struct idle_log *log)
{
	for (uint32_t i = 0; i < log->nr_devices; i++) {
		struct idle_device *device = &log->devices[i];

		for (uint32_t block = 0; block < device->nr_full; block++)
			free(device->full[block].work);
		device->nr_full = 0;
		device->changed = false;
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
