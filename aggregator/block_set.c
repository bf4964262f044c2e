#include "block_set.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define ROOM_MIN 32u

void block_set_fini(struct block_set *set)
{
	free(set->blocks);
	free(set->slots);
	*set = (struct block_set){0};
}

/* The slot that names the block, or the empty slot where it belongs. */
static uint32_t *find_slot(const struct block_set *set, uint64_t block)
{
	uint32_t mask = 2 * set->room - 1;
	uint32_t i = (uint32_t)(block * 0x9e3779b97f4a7c15u >> 32) & mask;

	while (set->slots[i] && set->blocks[set->slots[i] - 1] != block)
		i = (i + 1) & mask;
	return &set->slots[i];
}

static int grow(struct block_set *set)
{
	uint32_t room = set->room ? 2 * set->room : ROOM_MIN;
	uint32_t *slots = calloc(2 * (size_t)room, sizeof(*slots));
	uint64_t *blocks = realloc(set->blocks, room * sizeof(*blocks));

	if (blocks)
		set->blocks = blocks;
	if (!slots || !blocks) {
		free(slots);
		return -ENOMEM;
	}
	free(set->slots);
	set->slots = slots;
	set->room = room;
	for (uint32_t i = 0; i < set->count; i++)
		*find_slot(set, blocks[i]) = i + 1;
	return 0;
}

int block_set_add(struct block_set *set, uint64_t block)
{
	if (block_set_has(set, block))
		return 0;
	if (set->count == set->room && grow(set))
		return -ENOMEM;
	set->blocks[set->count++] = block;
	*find_slot(set, block) = set->count;
	return 0;
}

bool block_set_has(const struct block_set *set, uint64_t block)
{
	return set->count && *find_slot(set, block);
}

void block_set_clear(struct block_set *set)
{
	if (set->slots)
		memset(set->slots, 0, 2 * (size_t)set->room * sizeof(*set->slots));
	set->count = 0;
}
