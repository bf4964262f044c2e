#include "block_set.h"

#include <errno.h>
#include <stdlib.h>

#include "base/array.h"

void block_set_fini(struct block_set *set)
{
	free(set->blocks);
	hash_index_fini(&set->index);
	*set = (struct block_set){0};
}

static bool is_block(const void *context, uint32_t id, const void *key)
{
	return ((const struct block_set *)context)->blocks[id - 1] == *(const uint64_t *)key;
}

bool block_set_has(const struct block_set *set, uint64_t block)
{
	return hash_index_find(&set->index, hash_index_hash_word(block), is_block, set, &block);
}

int block_set_add(struct block_set *set, uint64_t block)
{
	if (block_set_has(set, block))
		return 0;
	if (array_reserve(&set->blocks, &set->room, set->count + 1, sizeof(*set->blocks)))
		return -ENOMEM;
	if (hash_index_insert(&set->index, hash_index_hash_word(block), set->count + 1))
		return -ENOMEM;
	set->blocks[set->count++] = block;
	return 0;
}

void block_set_clear(struct block_set *set)
{
	hash_index_clear(&set->index);
	set->count = 0;
}
