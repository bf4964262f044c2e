#include "process_maps.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"

struct interval {
	uint64_t start, end, bias;
	uint32_t module_id;
};

struct process_maps {
	struct interval *intervals; /* owns; sorted, disjoint */
	uint32_t count, max;
};

struct process_maps *process_maps_create(void)
{
	return calloc(1, sizeof(struct process_maps));
}

void process_maps_destroy(struct process_maps *maps)
{
	if (!maps)
		return;
	free(maps->intervals);
	free(maps);
}

static uint32_t first_ending_above(const struct process_maps *maps, uint64_t address)
{
	uint32_t low = 0, high = maps->count;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (maps->intervals[middle].end <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* Cuts [start, end) out and puts *interval in its place. interval may be NULL. */
static int replace(struct process_maps *maps, uint64_t start, uint64_t end,
		   const struct interval *interval)
{
	struct interval pieces[3];
	uint32_t nr_pieces = 0;
	uint32_t first = first_ending_above(maps, start), after = first;

	while (after < maps->count && maps->intervals[after].start < end)
		after++;

	if (first < after && maps->intervals[first].start < start) {
		pieces[nr_pieces] = maps->intervals[first];
		pieces[nr_pieces++].end = start;
	}
	if (interval)
		pieces[nr_pieces++] = *interval;
	if (first < after && maps->intervals[after - 1].end > end) {
		pieces[nr_pieces] = maps->intervals[after - 1];
		pieces[nr_pieces++].start = end;
	}

	uint32_t count = maps->count - (after - first) + nr_pieces;
	if (count > PROCESS_MAPS_MAX)
		return -ENOSPC;
	int r = array_reserve(&maps->intervals, &maps->max, count, sizeof(*maps->intervals));
	if (r)
		return r;
	memmove(maps->intervals + first + nr_pieces, maps->intervals + after,
		(maps->count - after) * sizeof(*maps->intervals));
	memcpy(maps->intervals + first, pieces, nr_pieces * sizeof(*pieces));
	maps->count = count;
	return 0;
}

int process_maps_add(struct process_maps *maps, uint64_t start, uint64_t end, uint64_t bias,
		     uint32_t module_id)
{
	if (start >= end)
		return -EINVAL;
	return replace(maps, start, end, &(struct interval){start, end, bias, module_id});
}

int process_maps_remove(struct process_maps *maps, uint64_t start, uint64_t end)
{
	return maps->count && start < end ? replace(maps, start, end, NULL) : 0;
}

bool process_maps_find(const struct process_maps *maps, uint64_t address, uint32_t *module_id,
		       uint64_t *vaddr)
{
	uint32_t i = first_ending_above(maps, address);

	*module_id = 0;
	*vaddr = 0;
	if (i == maps->count || maps->intervals[i].start > address)
		return false;
	*module_id = maps->intervals[i].module_id;
	*vaddr = address - maps->intervals[i].bias;
	return true;
}
