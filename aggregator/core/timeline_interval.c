#include "timeline_interval.h"

#include <string.h>

#define BLOCK 32u /* sorted by insertion, because disorder is small */

static void sort_block(struct timeline_interval *intervals, uint32_t count)
{
	for (uint32_t i = 1; i < count; i++) {
		struct timeline_interval moved = intervals[i];
		uint32_t j = i;

		for (; j > 0 && intervals[j - 1].start_ns > moved.start_ns; j--)
			intervals[j] = intervals[j - 1];
		intervals[j] = moved;
	}
}

/* The left part is no longer than the right one. It goes through scratch. */
static void merge(struct timeline_interval *intervals, uint32_t middle, uint32_t count,
		  struct timeline_interval *scratch)
{
	uint32_t left = 0, right = middle, out = 0;

	memcpy(scratch, intervals, middle * sizeof(*intervals));
	while (left < middle && right < count)
		intervals[out++] = intervals[right].start_ns < scratch[left].start_ns
					   ? intervals[right++]
					   : scratch[left++];
	memcpy(intervals + out, scratch + left, (middle - left) * sizeof(*intervals));
}

/* Merges from the other end, for a right part that is shorter. */
static void merge_short(struct timeline_interval *intervals, uint32_t middle, uint32_t count,
			struct timeline_interval *scratch)
{
	uint32_t left = middle, right = count - middle, out = count;

	memcpy(scratch, intervals + middle, right * sizeof(*intervals));
	while (left > 0 && right > 0)
		intervals[--out] = intervals[left - 1].start_ns > scratch[right - 1].start_ns
					   ? intervals[--left]
					   : scratch[--right];
	memcpy(intervals + left, scratch, right * sizeof(*intervals));
}

/* Parts that are already in order stay where they are. */
static void merge_neighbours(struct timeline_interval *intervals, uint32_t count, uint32_t width,
			     struct timeline_interval *scratch)
{
	for (uint32_t at = 0; width < count - at; at += 2 * width) {
		struct timeline_interval *pair = intervals + at;
		uint32_t both = count - at < 2 * width ? count - at : 2 * width;

		if (pair[width - 1].start_ns > pair[width].start_ns) {
			if (both - width < width)
				merge_short(pair, width, both, scratch);
			else
				merge(pair, width, both, scratch);
		}
		if (both < 2 * width)
			break;
	}
}

static uint32_t join(struct timeline_interval *intervals, uint32_t count)
{
	uint32_t last = 0;

	for (uint32_t i = 1; i < count; i++) {
		if (intervals[i].start_ns > intervals[last].end_ns)
			intervals[++last] = intervals[i];
		else if (intervals[i].end_ns > intervals[last].end_ns)
			intervals[last].end_ns = intervals[i].end_ns;
	}
	return count ? last + 1 : 0;
}

uint32_t timeline_interval_order(struct timeline_interval *intervals, uint32_t count,
				 struct timeline_interval *scratch)
{
	for (uint32_t at = 0; at < count; at += BLOCK)
		sort_block(intervals + at, count - at < BLOCK ? count - at : BLOCK);
	for (uint32_t width = BLOCK; width < count; width *= 2)
		merge_neighbours(intervals, count, width, scratch);
	return join(intervals, count);
}

bool timeline_interval_ordered(const struct timeline_interval *intervals, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++)
		if (intervals[i].end_ns <= intervals[i].start_ns ||
		    (i > 0 && intervals[i].start_ns <= intervals[i - 1].end_ns))
			return false;
	return true;
}

uint32_t timeline_interval_after(const struct timeline_interval *intervals, uint32_t count,
				 uint64_t at_ns)
{
	uint32_t low = 0, high = count;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (intervals[middle].end_ns <= at_ns)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}
