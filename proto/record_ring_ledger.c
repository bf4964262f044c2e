#include "proto/record_ring_reader.h"

/* Launches are counted by their lanes alone: the launch path touches no shared counter. */
static void ledger_of_lanes(const struct record_ring *ring, struct ledger_entry *launches,
			    struct ledger_entry *full)
{
	for (uint32_t i = 0; i < ring->sizes.launch_lanes; i++) {
		struct ring_lane *control = &ring->lane_controls[i];
		uint64_t marks = atomic_load_explicit(&control->marks, memory_order_relaxed);
		uint64_t dropped = atomic_load_explicit(&control->dropped, memory_order_relaxed);
		uint64_t produced = atomic_load_explicit(&control->produced, memory_order_acquire);

		launches->count += produced - marks + dropped;
		full->count += dropped;
	}
}

uint32_t record_ring_ledger(const struct record_ring *ring, struct ledger_entry *out, uint32_t max)
{
	uint32_t nr = 0;

	for (uint32_t row = 0; row < RING_DEVICES; row++) {
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
			if ((entry.count || entry.ns) && nr < max)
				out[nr++] = entry;
		}
	}
	return nr;
}
