#include "launch_expiry.h"

#include <assert.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

#include "launch_history.h"

/* Of launches_max, given up at once, because a search for the oldest costs O(all). */
#define EXPIRE_SHARE 16u

/* Returns the value that a sort would put at nth. The values, which are distinct, end up in some other order. */
static uint64_t nth_smallest(uint64_t *values, uint32_t count, uint32_t nth)
{
	for (;;) {
		uint64_t pivot = values[count / 2];
		uint32_t below = 0;

		values[count / 2] = values[count - 1];
		for (uint32_t i = 0; i < count - 1; i++) {
			uint64_t value = values[i];

			if (value < pivot) {
				values[i] = values[below];
				values[below++] = value;
			}
		}
		if (nth == below)
			return pivot;
		if (nth < below) {
			count = below;
		} else {
			values += below;
			count -= below + 1;
			nth -= below + 1;
		}
	}
}

static bool is_outstanding(const struct launch *launch)
{
	return launch->flags && !(launch->flags & LAUNCH_RETIRED);
}

int launch_expiry_run(struct launch_history *history, uint32_t launches_max,
		      uint64_t *nr_unanswered)
{
	struct launch_map *map = &history->map;
	uint32_t nth = launches_max / EXPIRE_SHARE, count = 0;

	if (history->nr_outstanding <= launches_max)
		return 0;
	uint64_t *orders = malloc(history->nr_outstanding * sizeof(*orders));
	if (!orders)
		return -ENOMEM;
	for (uint32_t i = 0; i <= map->mask; i++)
		if (is_outstanding(&map->slots[i]))
			orders[count++] = map->slots[i].order;
	assert(count == history->nr_outstanding && nth < count);
	uint64_t last = nth_smallest(orders, count, nth);
	free(orders);

	/* A removal moves a later launch into the slot: look at it again. */
	for (uint32_t i = 0; i <= map->mask;) {
		struct launch *launch = &map->slots[i];

		if (!is_outstanding(launch) || launch->order > last) {
			i++;
			continue;
		}
		*nr_unanswered += launch_history_is_unanswered(launch);
		int error = launch_history_forget(history, launch);
		if (error)
			return error;
	}
	return 0;
}
