#include "run_noise.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define COVERED 0.99 /* of a kernel's time: the rest is too little to matter */

/* Returns the place of the item's first window or part. */
static uint32_t first_window(const struct run_work *work, uint32_t item)
{
	uint32_t low = 0, high = work->nr_windows;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (work->windows[middle].item < item)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static uint32_t first_part(const struct run_work *work, uint32_t item)
{
	uint32_t low = 0, high = work->nr_parts;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (work->parts[middle].item < item)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

bool run_noise_of_windows(const struct run_work *work, const struct run_item *item,
			  struct noise *noise)
{
	const uint32_t of = (uint32_t)(item - work->items);
	const uint32_t first = first_window(work, of), nr = first_window(work, of + 1) - first;

	return noise_of_windows(work->windows + first, nr, noise);
}

bool run_noise_of_launches(const struct run_work *work, const struct run_item *item,
			   struct noise *noise)
{
	(void)work;
	*noise = (struct noise){.freedom = INFINITY};
	if (!item->ns || (double)item->covered_ns < COVERED * (double)item->ns)
		return false;
	noise->deviation = sqrt(item->spread_ns2) / (double)item->ns;
	return true;
}

bool run_noise_same_gpus(const struct run_work *a, const struct run_work *b)
{
	if (a->nr_members != b->nr_members)
		return false;
	for (uint32_t i = 0; i < a->nr_members; i++)
		if (memcmp(a->members[i].uuid, b->members[i].uuid, sizeof(a->members->uuid)) != 0)
			return false;
	return true;
}

int run_noise_of_ranks(const struct run_work *before, const struct run_item *item_before,
		       const struct run_work *after, const struct run_item *item_after,
		       struct noise *noise)
{
	const uint32_t of_before = (uint32_t)(item_before - before->items);
	const uint32_t of_after = (uint32_t)(item_after - after->items);
	const uint32_t at_before = first_part(before, of_before),
		       at_after = first_part(after, of_after);
	const uint32_t nr = first_part(before, of_before + 1) - at_before;

	if (nr < NOISE_RANKS_MIN || first_part(after, of_after + 1) - at_after != nr)
		return 0;
	double *changes = malloc(nr * sizeof(*changes));
	if (!changes)
		return -ENOMEM;
	uint32_t count = 0;
	for (; count < nr; count++) {
		const struct run_part *x = &before->parts[at_before + count];
		const struct run_part *y = &after->parts[at_after + count];

		if (x->member != y->member || !x->ns || !y->ns || !x->count || !y->count)
			break;
		changes[count] = log((double)y->ns / (double)y->count) -
				 log((double)x->ns / (double)x->count);
	}
	if (count == nr)
		*noise = noise_of_values(changes, nr);
	free(changes);
	return count == nr;
}
