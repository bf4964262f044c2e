#include "kept_newest.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "kept_window.h"

#include "base/array.h"

struct kept_newest *kept_newest_create(void)
{
	return calloc(1, sizeof(struct kept_newest));
}

void kept_newest_destroy(struct kept_newest *newest)
{
	if (newest)
		free(newest->recent);
	free(newest);
}

static void drop_oldest(struct kept_newest *newest)
{
	if (newest->first_block < newest->nr_blocks) {
		newest->nr_pieces -= newest->counts[newest->first_block++ % KEPT_NEWEST_BLOCKS];
		newest->dropped = true;
	} else {
		const uint32_t nr = (newest->nr_recent + 1) / 2;

		newest->nr_recent -= nr;
		newest->nr_pieces -= nr;
		memmove(newest->recent, newest->recent + nr,
			newest->nr_recent * sizeof(*newest->recent));
	}
}

/* The level rises if as many pieces as there is room for came in less than KEPT_NEWEST_NS. */
static void measure(struct kept_newest *newest, uint32_t room, uint64_t now_ns)
{
	if (!newest->nr_since)
		newest->since_ns = now_ns;
	if (++newest->nr_since < room)
		return;
	if (now_ns < newest->since_ns + KEPT_NEWEST_NS && newest->level < KEPT_WINDOW_LEVELS - 1) {
		newest->level++;
		newest->raised = true;
	}
	newest->nr_since = 0;
}

int kept_newest_add(struct kept_newest *newest, uint32_t room, uint64_t window,
		    const struct host_sample *piece)
{
	if (newest->level && kept_window_level(window) < newest->level)
		return 0;
	if (array_reserve(&newest->recent, &newest->room_recent, newest->nr_recent + 1ul,
			  sizeof(*newest->recent)))
		return -ENOMEM;
	while (newest->nr_pieces >= room)
		drop_oldest(newest);
	newest->recent[newest->nr_recent++] = *piece;
	newest->nr_pieces++;
	measure(newest, room, piece->time_ns);
	return 0;
}

void kept_newest_drop(struct kept_newest *newest)
{
	newest->dropped |= newest->first_block < newest->nr_blocks;
	newest->first_block = newest->nr_blocks;
	newest->nr_recent = 0;
	newest->nr_pieces = 0;
}

void kept_newest_saved(struct kept_newest *newest)
{
	if (newest->nr_recent)
		newest->counts[newest->nr_blocks++ % KEPT_NEWEST_BLOCKS] = newest->nr_recent;
	newest->nr_recent = 0;
	newest->raised = newest->dropped = false;
	if (newest->nr_blocks - newest->first_block == KEPT_NEWEST_BLOCKS)
		drop_oldest(newest);
}

void kept_newest_load(struct kept_newest *newest, uint32_t nr_blocks)
{
	if (nr_blocks > newest->nr_blocks)
		newest->first_block = newest->nr_blocks = nr_blocks;
	newest->dropped = true;
}
