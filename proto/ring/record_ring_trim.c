#include "record_ring.h"

#include <stdbool.h>
#include <sys/mman.h>

#include "record_ring_writer.h"

#define TRIM_LEAST (256u << 10) /* bytes of a lane; smaller lanes are left alone */

/* Takes the memory from whole pages of the places for positions [from, to), at most once around. The lane has `bytes`
 * at base. Returns the number of bytes taken. */
static uint64_t take_pages(uint8_t *base, uint64_t bytes, uint64_t from, uint64_t to)
{
	uint64_t taken = 0;

	from = ring_pages(from);
	while (from + RING_PAGE <= to) {
		uint64_t at = from % bytes, size = (to - from) / RING_PAGE * RING_PAGE;

		if (size > bytes - at)
			size = bytes - at;
		/* The kernel takes nothing from what the program has locked. */
		if (madvise(base + at, size, MADV_REMOVE) < 0 &&
		    (munlock(base + at, size) < 0 || madvise(base + at, size, MADV_REMOVE) < 0))
			break;
		from += size;
		taken += size;
	}
	return taken;
}

/* Returns whether the lane is at rest: the agent has released all of it, nothing was produced since the last call, and
 * the lane has not been trimmed at this position. */
static bool is_at_rest(struct lane_rest *rest, uint64_t produced, uint64_t release)
{
	bool rests = produced == rest->seen && produced == release && produced != rest->trimmed;

	rest->seen = produced;
	return rests;
}

static uint64_t trim_launches(struct record_ring *ring, struct launch_lane *own)
{
	const uint64_t size = sizeof(struct launch_record), capacity = ring->launch_mask + 1;
	uint64_t produced = atomic_load_explicit(&own->control->produced, memory_order_relaxed);
	uint64_t release = atomic_load_explicit(&own->control->release, memory_order_acquire);
	uint64_t limit = atomic_load_explicit(&own->limit, memory_order_relaxed), taken = 0;
	/* A thread that wakes up meanwhile has room for some more stretches before its lane seems full. */
	uint64_t from = limit + capacity / 8;

	if (capacity * size < TRIM_LEAST || !is_at_rest(&own->rest, produced, release))
		return 0;
	atomic_store(&own->trim, from);
	if (atomic_load(&own->limit) == limit) {
		taken = take_pages((uint8_t *)own->records, capacity * size, from * size,
				   (release + capacity) * size);
		own->rest.trimmed = produced;
	}
	atomic_store(&own->trim, TRIM_NONE);
	return taken;
}

uint64_t record_ring_trim_launches(struct record_ring *ring)
{
	uint32_t lanes = atomic_load_explicit(&ring->header->lanes, memory_order_relaxed);
	uint64_t taken = 0;

	for (uint32_t i = 0; i < lanes && i < ring->nr_lanes; i++)
		taken += trim_launches(ring, &ring->lanes[i]);
	return taken;
}

uint64_t record_ring_trim_activity(struct record_ring *ring)
{
	const uint64_t size = sizeof(struct gpu_record), capacity = ring->activity_mask + 1;
	struct ring_lane *control = &ring->header->activity;
	uint64_t produced = atomic_load_explicit(&control->produced, memory_order_relaxed);
	uint64_t release = atomic_load_explicit(&control->release, memory_order_acquire);

	if (!is_at_rest(&ring->activity_rest, produced, release))
		return 0;
	ring->activity_rest.trimmed = produced;
	return take_pages((uint8_t *)ring->activity, capacity * size, produced * size,
			  (produced + capacity) * size);
}
