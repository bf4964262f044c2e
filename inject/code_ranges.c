#include "code_ranges.h"

#include <stdbool.h>

void code_ranges_add(struct code_ranges *code, uint64_t start, uint64_t end)
{
	uint32_t nr = atomic_load_explicit(&code->nr, memory_order_relaxed);

	if (nr < CODE_RANGES_MAX) {
		atomic_store_explicit(&code->ranges[nr].start, start, memory_order_relaxed);
		atomic_store_explicit(&code->ranges[nr].end, end, memory_order_relaxed);
	}
	if (nr <= CODE_RANGES_MAX)
		atomic_store_explicit(&code->nr, nr + 1, memory_order_release);
}

static bool contains(const struct code_ranges *code, uint32_t nr, uint64_t address)
{
	for (uint32_t i = 0; i < nr; i++) {
		uint64_t start = atomic_load_explicit(&code->ranges[i].start, memory_order_relaxed);

		if (address >= start &&
		    address < atomic_load_explicit(&code->ranges[i].end, memory_order_relaxed))
			return true;
	}
	return false;
}

uint32_t code_ranges_trim(const struct code_ranges *code, const uint64_t *frames, uint32_t depth)
{
	uint32_t nr = atomic_load_explicit(&code->nr, memory_order_acquire);

	if (nr == 0 || nr > CODE_RANGES_MAX)
		return depth;
	for (uint32_t known = depth; known > 0; known--)
		if (contains(code, nr, frames[known - 1] - 1)) /* the call may end its segment */
			return known;
	return depth;
}
