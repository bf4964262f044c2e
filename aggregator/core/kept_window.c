#include "kept_window.h"

#define LONG 1024u /* windows */

/* The finalizer of MurmurHash3: each bit of the result depends on all bits of the number. */
static uint64_t mix(uint64_t number)
{
	number ^= number >> 33;
	number *= 0xff51afd7ed558ccdull;
	number ^= number >> 33;
	number *= 0xc4ceb9fe1a85ec53ull;
	return number ^ number >> 33;
}

static uint32_t level_of(uint64_t window)
{
	return (uint32_t)__builtin_ctzll(mix(window) | 1ull << (KEPT_WINDOW_LEVELS - 1));
}

uint32_t kept_window_level(uint64_t time_ns)
{
	return level_of(time_ns / KEPT_WINDOW_NS);
}

uint32_t kept_window_level_of(uint64_t start_ns, uint64_t end_ns)
{
	uint64_t last = end_ns / KEPT_WINDOW_NS;
	uint32_t highest = 0;

	if (last - start_ns / KEPT_WINDOW_NS >= LONG)
		return KEPT_WINDOW_LEVELS - 1;
	for (uint64_t window = start_ns / KEPT_WINDOW_NS; window <= last; window++) {
		uint32_t level = level_of(window);

		highest = level > highest ? level : highest;
	}
	return highest;
}
