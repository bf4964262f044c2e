#include "launch_history.h"

#include <errno.h>
#include <stdlib.h>

#define NO_BLOCK UINT64_MAX

static uint32_t nr_chunks(const struct launch_history *history)
{
	return (history->retired_max + LAUNCH_RETIRED_CHUNK - 1) / LAUNCH_RETIRED_CHUNK;
}

/* Returns NULL if the slot's chunk was never made. */
static struct launch_retired *find_retired(const struct launch_history *history, uint64_t order)
{
	const uint64_t slot = order % history->retired_max;
	struct launch_retired *chunk = history->retired[slot / LAUNCH_RETIRED_CHUNK];

	return chunk ? &chunk[slot % LAUNCH_RETIRED_CHUNK] : NULL;
}

/* Returns NULL if there is no memory. */
static struct launch_retired *get_retired(struct launch_history *history, uint64_t order)
{
	const uint64_t slot = order % history->retired_max;
	struct launch_retired **chunk = &history->retired[slot / LAUNCH_RETIRED_CHUNK];

	if (!*chunk)
		*chunk = calloc(LAUNCH_RETIRED_CHUNK, sizeof(**chunk));
	return *chunk ? &(*chunk)[slot % LAUNCH_RETIRED_CHUNK] : NULL;
}

int launch_history_init(struct launch_history *history, uint32_t retired_max, bool track_changes)
{
	*history = (struct launch_history){
		.retired_max = retired_max,
		.track_changes = track_changes,
	};
	launch_history_saved(history);
	history->retired = calloc(nr_chunks(history), sizeof(struct launch_retired *));
	return history->retired ? 0 : -ENOMEM;
}

static void free_chunks(struct launch_history *history)
{
	for (uint32_t i = 0; history->retired && i < nr_chunks(history); i++) {
		free(history->retired[i]);
		history->retired[i] = NULL;
	}
}

void launch_history_fini(struct launch_history *history)
{
	launch_map_fini(&history->map);
	block_set_fini(&history->changed);
	free_chunks(history);
	free(history->retired);
	history->retired = NULL;
}

struct launch *launch_history_find(const struct launch_history *history, uint32_t window,
				   uint32_t correlation_id)
{
	return launch_map_find(&history->map, window, correlation_id);
}

bool launch_history_is_unanswered(const struct launch *launch)
{
	return !(launch->flags & (LAUNCH_MATCHED | LAUNCH_RETIRED | LAUNCH_HOST));
}

uint64_t launch_history_earliest(const struct launch_history *history, uint64_t since_ns)
{
	uint64_t earliest_ns = UINT64_MAX;

	for (uint32_t i = 0; history->map.slots && i <= history->map.mask; i++) {
		const struct launch *launch = &history->map.slots[i];

		if (launch->flags & LAUNCH_USED && launch->time_ns >= since_ns && launch->time_ns &&
		    launch->time_ns < earliest_ns && launch_history_is_unanswered(launch))
			earliest_ns = launch->time_ns;
	}
	return earliest_ns;
}

static int touch(struct launch_history *history, enum launch_touch place, uint32_t window,
		 uint32_t correlation_id)
{
	uint64_t block = ((uint64_t)window << 32 | correlation_id) / LAUNCH_HISTORY_BLOCK;

	if (!history->track_changes || history->touched[place] == block)
		return 0;
	history->touched[place] = block;
	return block_set_add(&history->changed, block);
}

int launch_history_add(struct launch_history *history, const struct launch *launch)
{
	int error = launch_map_insert(&history->map, launch);

	if (error)
		return error;
	history->nr_outstanding++;
	return touch(history, LAUNCH_TOUCH_ADD, launch->window, launch->correlation_id);
}

int launch_history_touch(struct launch_history *history, const struct launch *launch)
{
	return touch(history, LAUNCH_TOUCH_ANSWER, launch->window, launch->correlation_id);
}

int launch_history_forget(struct launch_history *history, struct launch *launch)
{
	uint32_t window = launch->window, correlation_id = launch->correlation_id;

	if (!(launch->flags & LAUNCH_RETIRED))
		history->nr_outstanding--;
	launch_map_remove(&history->map, launch);
	return touch(history, LAUNCH_TOUCH_FORGET, window, correlation_id);
}

int launch_history_retire(struct launch_history *history, struct launch *launch, uint64_t order)
{
	struct launch_retired *retired = get_retired(history, order), previous;

	if (!retired)
		return -ENOMEM;
	previous = *retired;
	launch->flags |= LAUNCH_RETIRED;
	launch->order = order;
	history->nr_outstanding--;
	*retired = (struct launch_retired){order + 1, launch->correlation_id, launch->window};
	int error = launch_history_touch(history, launch);
	if (error || !previous.order)
		return error;

	/* The key may have come again since, with a launch of its own. */
	launch = launch_map_find(&history->map, previous.window, previous.correlation_id);
	if (launch && launch->flags & LAUNCH_RETIRED && launch->order == previous.order - 1)
		return launch_history_forget(history, launch);
	return 0;
}

void launch_history_prefetch(const struct launch_history *history, uint64_t order, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++) {
		const struct launch_retired *previous = find_retired(history, order + i);

		if (previous && previous->order)
			launch_map_prefetch(&history->map, previous->window,
					    previous->correlation_id);
	}
}

uint64_t launch_history_end(struct launch_history *history)
{
	const struct launch_map *map = &history->map;
	uint64_t nr_unanswered = 0;

	for (uint32_t i = 0; map->slots && i <= map->mask; i++)
		nr_unanswered +=
			map->slots[i].flags && launch_history_is_unanswered(&map->slots[i]);
	launch_map_fini(&history->map);
	history->nr_outstanding = 0;
	free_chunks(history);
	return nr_unanswered;
}

uint32_t launch_history_block(const struct launch_history *history, uint64_t index,
			      struct launch launches[static LAUNCH_HISTORY_BLOCK])
{
	uint64_t first = index * LAUNCH_HISTORY_BLOCK;
	uint32_t count = 0;

	for (uint32_t i = 0; i < LAUNCH_HISTORY_BLOCK; i += LAUNCH_MAP_RUN)
		count += launch_map_copy(&history->map, (uint32_t)(first >> 32),
					 (uint32_t)(first + i), launches + count);
	return count;
}

void launch_history_saved(struct launch_history *history)
{
	block_set_clear(&history->changed);
	for (int i = 0; i < LAUNCH_TOUCHES; i++)
		history->touched[i] = NO_BLOCK;
}

int launch_history_load(struct launch_history *history, const struct launch *launch)
{
	if (!(launch->flags & LAUNCH_USED) ||
	    launch_map_find(&history->map, launch->window, launch->correlation_id))
		return -EINVAL;
	if (!(launch->flags & LAUNCH_RETIRED)) {
		history->nr_outstanding++;
	} else {
		struct launch_retired *retired = get_retired(history, launch->order);

		if (!retired)
			return -ENOMEM;
		if (retired->order)
			return -EINVAL;
		*retired = (struct launch_retired){launch->order + 1, launch->correlation_id,
						   launch->window};
	}
	return launch_map_insert(&history->map, launch);
}
