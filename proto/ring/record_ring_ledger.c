#include "record_ring_reader.h"

#include <string.h>

/* Sums the launches of the lanes. Only the lanes count launches, because the launch path touches no shared counter.
 * Returns false if the counts are impossible. */
static bool ledger_of_lanes(const struct record_ring *ring, uint64_t *launches, uint64_t *full)
{
	*launches = *full = 0;
	for (uint32_t i = 0, nr = ring_lanes_claimed(ring); i < nr; i++) {
		struct ring_lane *control = &ring->lane_controls[i];
		uint64_t marks = atomic_load_explicit(&control->marks, memory_order_relaxed);
		uint64_t dropped = atomic_load_explicit(&control->dropped, memory_order_relaxed);
		uint64_t produced = atomic_load_explicit(&control->produced, memory_order_acquire);

		/* A mark is counted just before it is produced. */
		if (marks == produced + 1)
			produced++;
		if (marks > produced || produced > LEDGER_COUNT_MAX || dropped > LEDGER_COUNT_MAX)
			return false;
		*launches += produced - marks + dropped;
		*full += dropped;
	}
	return !record_ring_is_broken(ring);
}

/* Returns the records that a dead agent had released in a full lane, and that reached no aggregator. */
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

/* Adds the meters' sums to the process's entry. */
static void add_meters(const uint64_t sums[static RECORD_METER_WORDS], struct ledger_entry *entry)
{
	static const struct {
		uint8_t count, ns;
	} words[LEDGER_REASONS] = {
		[LEDGER_METER] = {RECORD_METER_CALLS, RECORD_METER_ENTRY_NS},
		[LEDGER_METER_ENTRY] = {RECORD_METER_METERED, RECORD_METER_ENTRY_NS},
		[LEDGER_METER_NATIVE] = {RECORD_METER_METERED, RECORD_METER_NATIVE_NS},
		[LEDGER_METER_PYTHON] = {RECORD_METER_METERED, RECORD_METER_PYTHON_NS},
		[LEDGER_METER_INTERN] = {RECORD_METER_METERED, RECORD_METER_INTERN_NS},
		[LEDGER_METER_EXIT] = {RECORD_METER_METERED, RECORD_METER_EXIT_NS},
		[LEDGER_METER_OUTLIER] = {RECORD_METER_OUTLIERS, RECORD_METER_OUTLIER_NS},
		[LEDGER_METER_STACKS] = {RECORD_METER_STACKS, RECORD_METER_STACK_NS},
		[LEDGER_METER_THREADS] = {RECORD_METER_THREADS, RECORD_METER_THREAD_NS},
		[LEDGER_LESS_PYTHON] = {RECORD_METER_LESS, 0},
		[LEDGER_LESS_LEAF] = {RECORD_METER_LESS + 1, 0},
		[LEDGER_LESS_NONE] = {RECORD_METER_LESS + 2, 0},
	};
	const uint8_t count = words[entry->reason].count, ns = words[entry->reason].ns;

	if (count || ns)
		entry->count = ledger_add_saturating(entry->count, sums[count]);
	if (!ns)
		return;
	entry->ns = ledger_add_saturating(entry->ns, sums[ns]);
	for (uint32_t word = ns + 1; entry->reason == LEDGER_METER && word <= RECORD_METER_EXIT_NS;
	     word++)
		entry->ns = ledger_add_saturating(entry->ns, sums[word]);
}

/* Reads the meter of the lane in which the guest took most. Returns the guest's time in it. */
static uint64_t read_busiest(const struct record_ring *ring,
			     uint64_t words[static RECORD_METER_WORDS])
{
	uint64_t most_ns = 0;

	memset(words, 0, RECORD_METER_WORDS * sizeof(*words));
	for (uint32_t i = 0, nr = ring_lanes_claimed(ring); i < nr; i++) {
		uint64_t lane[RECORD_METER_WORDS], ns;

		for (uint32_t word = 0; word < RECORD_METER_WORDS; word++)
			lane[word] = atomic_load_explicit(&ring->meters[i].words[word],
							  memory_order_relaxed);
		ns = lane[RECORD_METER_STACK_NS];
		for (uint32_t word = RECORD_METER_ENTRY_NS; word <= RECORD_METER_EXIT_NS; word++)
			ns = ledger_add_saturating(ns, lane[word]);
		if (ns <= most_ns)
			continue;
		most_ns = ns;
		memcpy(words, lane, sizeof(lane));
	}
	return most_ns;
}

static void add_busiest(const struct record_ring *ring, struct ledger_entry *entry)
{
	uint64_t words[RECORD_METER_WORDS];
	const uint64_t ns = read_busiest(ring, words);
	const bool is_guest = entry->reason == LEDGER_METER_BUSIEST;

	entry->count = ledger_add_saturating(
		entry->count, words[is_guest ? RECORD_METER_CALLS : RECORD_METER_STACKS]);
	entry->ns = ledger_add_saturating(entry->ns, is_guest ? ns : words[RECORD_METER_THREAD_NS]);
}

int record_ring_ledger(const struct record_ring *ring, struct ledger_entry *out, uint32_t max)
{
	struct {
		uint64_t count, ns;
	} counters[RING_REASONS];
	uint64_t counted = atomic_load_explicit(&ring->header->counted, memory_order_relaxed);
	uint64_t launches, full, meters[RECORD_METER_WORDS];
	uint32_t nr = 0;

	static_assert(sizeof(counters[0]) == sizeof(struct ring_counter), "a copy");
	ring_meters_sum(ring->header, ring->meters, ring->sizes.launch_lanes, meters);
	if (!ledger_of_lanes(ring, &launches, &full))
		return -EPROTO;
	for (uint32_t row = 0; row < RING_DEVICES; row++) {
		if (row < RECORD_DEVICES_MAX && !(counted & 1ull << row))
			continue; /* a hole */
		if (record_ring_copy(ring, ring->layout.counters + row * sizeof(counters), counters,
				     sizeof(counters)))
			return -EPROTO;
		for (uint32_t reason = 0; reason < LEDGER_REASONS; reason++) {
			struct ledger_entry entry = {
				.device_id = row == RECORD_DEVICES_MAX ? LEDGER_DEVICE_NONE : row,
				.reason = reason,
				.count = counters[reason].count,
				.ns = counters[reason].ns,
			};

			if (entry.count > LEDGER_COUNT_MAX || entry.ns > LEDGER_NS_MAX)
				return -EPROTO; /* before it is added to */
			if (row == RECORD_DEVICES_MAX && reason == LEDGER_LAUNCHES)
				entry.count += launches;
			else if (row == RECORD_DEVICES_MAX && reason == LEDGER_LAUNCH_RING_FULL)
				entry.count += full;
			if (row == RECORD_DEVICES_MAX) {
				entry.count =
					ledger_add_saturating(entry.count, gone(ring, reason));
				add_meters(meters, &entry);
				if (reason == LEDGER_METER_BUSIEST ||
				    reason == LEDGER_METER_BUSIEST_THREAD)
					add_busiest(ring, &entry);
			}
			if (entry.count > LEDGER_COUNT_MAX || entry.ns > LEDGER_NS_MAX)
				return -EPROTO;
			if ((entry.count || entry.ns) && nr < max)
				out[nr++] = entry;
		}
	}
	return (int)nr;
}
