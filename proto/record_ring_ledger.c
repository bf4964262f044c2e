#include "proto/record_ring_reader.h"

/* Launches are counted by their lanes alone: the launch path touches no shared counter. false: they make no sense. */
static bool ledger_of_lanes(const struct record_ring *ring, uint64_t *launches, uint64_t *full)
{
	*launches = *full = 0;
	for (uint32_t i = 0; i < record_ring_claimed(ring); i++) {
		struct ring_lane *control = &ring->lane_controls[i];
		uint64_t marks = atomic_load_explicit(&control->marks, memory_order_relaxed);
		uint64_t dropped = atomic_load_explicit(&control->dropped, memory_order_relaxed);
		uint64_t produced = atomic_load_explicit(&control->produced, memory_order_acquire);

		/* A mark is counted just before it is produced. */
		if (marks == produced + 1)
			produced++;
		if (marks > produced || produced > RECORD_RING_COUNT_MAX ||
		    dropped > RECORD_RING_COUNT_MAX)
			return false;
		*launches += produced - marks + dropped;
		*full += dropped;
	}
	return !record_ring_is_broken(ring);
}

int record_ring_ledger(const struct record_ring *ring, struct ledger_entry *out, uint32_t max)
{
	struct {
		uint64_t count, ns;
	} counters[RING_DEVICES][RING_REASONS];
	uint64_t launches, full;
	uint32_t nr = 0;

	static_assert(sizeof(counters[0][0]) == sizeof(struct ring_counter), "a copy");
	if (!ledger_of_lanes(ring, &launches, &full) ||
	    record_ring_copy(ring, ring->layout.counters, counters, sizeof(counters)))
		return -EPROTO;
	for (uint32_t row = 0; row < RING_DEVICES; row++) {
		for (uint32_t reason = 0; reason < LEDGER_REASONS; reason++) {
			struct ledger_entry entry = {
				.device_id = row == RECORD_DEVICES_MAX ? LEDGER_DEVICE_NONE : row,
				.reason = reason,
				.count = counters[row][reason].count,
				.ns = counters[row][reason].ns,
			};

			if (entry.count > RECORD_RING_COUNT_MAX || entry.ns > RECORD_RING_NS_MAX)
				return -EPROTO;
			if (row == RECORD_DEVICES_MAX && reason == LEDGER_LAUNCHES)
				entry.count += launches;
			else if (row == RECORD_DEVICES_MAX && reason == LEDGER_LAUNCH_RING_FULL)
				entry.count += full;
			if ((entry.count || entry.ns) && nr < max)
				out[nr++] = entry;
		}
	}
	return (int)nr;
}
