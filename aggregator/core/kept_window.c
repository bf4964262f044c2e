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

uint32_t kept_window_level(uint64_t window)
{
	return (uint32_t)__builtin_ctzll(mix(window) | 1ull << (KEPT_WINDOW_LEVELS - 1));
}

uint32_t kept_window_level_of(uint64_t first, uint64_t last)
{
	uint32_t highest = 0;

	if (last - first >= LONG)
		return KEPT_WINDOW_LEVELS - 1;
	for (uint64_t window = first; window <= last; window++) {
		uint32_t level = kept_window_level(window);

		highest = level > highest ? level : highest;
	}
	return highest;
}
