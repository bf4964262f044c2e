/* The places in memory where code has been unloaded, and what lies there now. One thread changes them. Any number of
 * threads look them up meanwhile, without a lock. */
#ifndef CODE_PLACES_H
#define CODE_PLACES_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "unwind/segment_map.h"

#define CODE_PLACE_UNCHANGED 0u /* the code that was there first, or none that was unloaded */

struct code_places { /* embedded; zeroed: no place */
	/* all places lie from low up to high (exclusive), which includes those that were joined */
	_Atomic uint64_t low, high;
	uint32_t nr_unloads;
	struct segment_map map;
};

/* What lies from start up to end (exclusive) is nobody's from now on. The place gets a number that it never had. If
 * there are too many places, all addresses between the lowest and the highest are one place from then on. */
void code_places_unload(struct code_places *places, uint64_t start, uint64_t end);

/* The code of this identity lies there from now on. Does nothing if none was ever unloaded there. Otherwise the place
 * gets the number that this identity always gives. Two identities have one number once in 2^31 times. */
void code_places_load(struct code_places *places, uint64_t start, uint64_t end, uint64_t identity);

/* Returns whether all of these addresses are in places. For the thread that changes them. */
bool code_places_hold(const struct code_places *places, uint64_t start, uint64_t end);

/* ---- any thread */

/* Returns a number that changes whenever a place changes; 0: there are no places. */
static inline uint32_t code_places_epoch(const struct code_places *places)
{
	return segment_map_epoch(&places->map);
}

/* Returns the number of the place that holds the address, or CODE_PLACE_UNCHANGED. */
static inline uint32_t code_places_at(const struct code_places *places, uint64_t address)
{
	struct segment segment;
	uint64_t low = atomic_load_explicit(&places->low, memory_order_relaxed);
	uint64_t high = atomic_load_explicit(&places->high, memory_order_relaxed);

	if (address - low >= high - low)
		return CODE_PLACE_UNCHANGED;
	return segment_map_find(&places->map, address, &segment) ? segment.slot
								 : CODE_PLACE_UNCHANGED;
}

#endif
