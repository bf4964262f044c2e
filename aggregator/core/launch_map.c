#include "launch_map.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

#include "base/hash_index.h"

#define SLOTS_MIN  256u
#define BLOCK_BITS 4u  /* log2 of LAUNCH_MAP_RUN; runs of ids are scattered */
#define SHIFT_MAX  60u /* leaves the number of one of SLOTS_MIN >> BLOCK_BITS blocks */

static_assert(LAUNCH_MAP_RUN == 1u << BLOCK_BITS, "one size of runs");

#define QUOTIENT_MAX 4u
#define WHOLE_MIN    (1ull << 44) /* of blocks by the million */

/* Whether multiples of the factor, of 2^64, stay well apart: as the golden section's do best, whose continued fraction
 * has the smallest quotients. The largest quotient leaves the smallest part, so it is looked at first. */
static bool scatters_well(uint64_t factor)
{
	for (uint64_t whole = UINT64_MAX, part = factor; whole > WHOLE_MIN;) {
		if (part <= whole / (QUOTIENT_MAX + 1))
			return false; /* the quotient is larger, or part is 0 */
		uint64_t rest = whole % part;

		whole = part;
		part = rest;
	}
	return true;
}

/* A job chooses the ids. Without the secret it cannot know which of them the highest bits of a product bring together,
 * and ids that follow each other are scattered more evenly than by another hash. One factor of 430 scatters well. */
static uint64_t choose_factor(void)
{
	uint64_t factor = 0;

	do
		factor = hash_index_digest(factor, NULL, 0) | 1;
	while (!scatters_well(factor));
	return factor;
}

/* Robin Hood hashing: in a run, launches stand in the order of their home slots. A search ends at the first launch that
 * is nearer to its home than the wanted one would be. A removal shifts back only up to a launch that is at home. */
static uint32_t home_of(const struct launch_map *map, uint32_t window, uint32_t correlation_id)
{
	uint32_t block = correlation_id >> BLOCK_BITS;
	uint32_t within = correlation_id & ((1u << BLOCK_BITS) - 1);
	uint64_t product = ((uint64_t)window << 32 | block) * map->factor;

	return (uint32_t)(product >> map->shift) << BLOCK_BITS | within;
}

static uint32_t distance(const struct launch_map *map, uint32_t slot)
{
	const struct launch *launch = &map->slots[slot];

	return (slot - home_of(map, launch->window, launch->correlation_id)) & map->mask;
}

void launch_map_fini(struct launch_map *map)
{
	free(map->slots);
	*map = (struct launch_map){0};
}

struct launch *launch_map_find(const struct launch_map *map, uint32_t window,
			       uint32_t correlation_id)
{
	if (map->count == 0)
		return NULL;

	uint32_t slot = home_of(map, window, correlation_id);
	for (uint32_t probe = 0;; probe++, slot = (slot + 1) & map->mask) {
		struct launch *launch = &map->slots[slot];

		if (!launch->flags)
			return NULL;
		if (launch->correlation_id == correlation_id && launch->window == window)
			return launch;
		if (distance(map, slot) < probe)
			return NULL;
	}
}

void launch_map_prefetch(const struct launch_map *map, uint32_t window, uint32_t correlation_id)
{
	if (map->slots)
		__builtin_prefetch(&map->slots[home_of(map, window, correlation_id)], 1);
}

/* The ids have neighbouring home slots, so one walk finds all of them. Launches from homes before the first one may be
 * in its way, and one from a home behind the last ends the walk. */
uint32_t launch_map_copy(const struct launch_map *map, uint32_t window, uint32_t first_id,
			 struct launch launches[static LAUNCH_MAP_RUN])
{
	uint32_t count = 0, home = map->count ? home_of(map, window, first_id) : 0;

	for (uint32_t walked = 0; map->count; walked++) {
		uint32_t slot = (home + walked) & map->mask;
		const struct launch *launch = &map->slots[slot];

		if (!launch->flags) {
			if (walked >= LAUNCH_MAP_RUN)
				break;
		} else if (launch->window == window &&
			   launch->correlation_id - first_id < LAUNCH_MAP_RUN) {
			launches[count++] = *launch;
		} else if (walked >= LAUNCH_MAP_RUN) {
			uint32_t moved = distance(map, slot);

			if (moved <= walked && walked - moved >= LAUNCH_MAP_RUN)
				break;
		}
	}
	return count;
}

static void place(struct launch_map *map, struct launch launch)
{
	uint32_t slot = home_of(map, launch.window, launch.correlation_id);

	for (uint32_t probe = 0;; probe++, slot = (slot + 1) & map->mask) {
		struct launch *here = &map->slots[slot];
		if (!here->flags) {
			*here = launch;
			map->count++;
			return;
		}
		uint32_t here_probe = distance(map, slot);
		if (here_probe < probe) {
			struct launch displaced = *here;
			*here = launch;
			launch = displaced;
			probe = here_probe;
		}
	}
}

static int grow(struct launch_map *map)
{
	struct launch_map bigger = {
		.mask = map->slots ? 2 * map->mask + 1 : SLOTS_MIN - 1,
		.shift = map->slots ? map->shift - 1 : SHIFT_MAX,
		.factor = map->slots ? map->factor : choose_factor(),
	};

	bigger.slots = calloc((size_t)bigger.mask + 1, sizeof(*bigger.slots));
	if (!bigger.slots)
		return -ENOMEM;
	for (uint32_t i = 0; map->slots && i <= map->mask; i++)
		if (map->slots[i].flags)
			place(&bigger, map->slots[i]);
	free(map->slots);
	*map = bigger;
	return 0;
}

int launch_map_insert(struct launch_map *map, const struct launch *launch)
{
	if (!map->slots || map->count >= (map->mask + 1) / 4 * 3) {
		int error = grow(map);
		if (error)
			return error;
	}
	place(map, *launch);
	return 0;
}

void launch_map_remove(struct launch_map *map, struct launch *launch)
{
	uint32_t hole = (uint32_t)(launch - map->slots);

	for (;;) {
		uint32_t next = (hole + 1) & map->mask;
		if (!map->slots[next].flags || distance(map, next) == 0)
			break;
		map->slots[hole] = map->slots[next];
		hole = next;
	}
	map->slots[hole] = (struct launch){0};
	map->count--;
}
