#include "proto/record_ring_reader.h"

/* Launches are counted by their lanes alone: the launch path touches no shared counter. */
static void ledger_of_lanes(const struct record_ring *ring, struct ledger_entry *launches,
			    struct ledger_entry *full)
{
	for (uint32_t i = 0, nr = ring_lanes_claimed(ring); i < nr; i++) {
		struct ring_lane *control = &ring->lane_controls[i];
		uint64_t marks = atomic_load_explicit(&control->marks, memory_order_relaxed);
		uint64_t dropped = atomic_load_explicit(&control->dropped, memory_order_relaxed);
		uint64_t produced = atomic_load_explicit(&control->produced, memory_order_acquire);

		launches->count += produced - marks + dropped;
		full->count += dropped;
	}
}

/* What the lanes had lost because they ran full, and the agent then died that had read it. */
static uint64_t gone(const struct record_ring *ring, enum ledger_reason reason)
{
	switch (reason) {
	case LEDGER_LAUNCH_RING_FULL:
		return atomic_load_explicit(&ring->header->gone[RING_GONE_LAUNCHES],
					    memory_order_relaxed);
	case LEDGER_RECORD_RING_FULL:
		return atomic_load_explicit(&ring->header->gone[RING_GONE_RECORDS],
					    memory_order_relaxed);
	case LEDGER_COLLECTIVE_LOST:
		return atomic_load_explicit(&ring->header->gone[RING_GONE_COLLECTIVES],
					    memory_order_relaxed);
	default:
		return 0;
	}
}

uint32_t record_ring_ledger(const struct record_ring *ring, struct ledger_entry *out, uint32_t max)
{
	uint64_t counted = atomic_load_explicit(&ring->header->counted, memory_order_relaxed);
	uint32_t nr = 0;

	for (uint32_t row = 0; row < RING_DEVICES; row++) {
		/* The others are holes in the memory: a look at them would fill them. */
		if (row < RECORD_DEVICES_MAX && !(counted & 1ull << row))
			continue;
		for (uint32_t reason = 0; reason < LEDGER_REASONS; reason++) {
			const struct ring_counter *counter =
				&ring->counters[row * RING_REASONS + reason];
			struct ledger_entry entry = {
				.device_id = row == RECORD_DEVICES_MAX ? LEDGER_DEVICE_NONE : row,
				.reason = reason,
				.count =
					atomic_load_explicit(&counter->count, memory_order_relaxed),
				.ns = atomic_load_explicit(&counter->ns, memory_order_relaxed),
			};
			struct ledger_entry lanes = entry;

			if (row == RECORD_DEVICES_MAX && reason == LEDGER_LAUNCHES)
				ledger_of_lanes(ring, &entry, &lanes);
			else if (row == RECORD_DEVICES_MAX && reason == LEDGER_LAUNCH_RING_FULL)
				ledger_of_lanes(ring, &lanes, &entry);
			if (row == RECORD_DEVICES_MAX)
				entry.count += gone(ring, reason);
			if ((entry.count || entry.ns) && nr < max)
				out[nr++] = entry;
		}
	}
	return nr;
}
