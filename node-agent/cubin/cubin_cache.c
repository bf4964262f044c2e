#include "cubin_cache.h"

#include <errno.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/hash_index.h"
#include "cubin_lines.h"

struct entry {
	uint64_t digest, size;     /* of the image */
	struct cubin_lines *lines; /* owns; NULL: the entry is free */
	uint32_t users;
	uint32_t next_free; /* id of a free entry's successor; 0: none */
};

struct cubin_cache {
	struct entry *entries; /* owns; by id - 1 */
	uint32_t nr_entries, room;
	uint32_t free, count;
	struct hash_index index;
};

struct cubin_cache *cubin_cache_create(void)
{
	return calloc(1, sizeof(struct cubin_cache));
}

void cubin_cache_destroy(struct cubin_cache *cache)
{
	if (!cache)
		return;
	for (uint32_t i = 0; i < cache->nr_entries; i++)
		cubin_lines_destroy(cache->entries[i].lines);
	free(cache->entries);
	hash_index_fini(&cache->index);
	free(cache);
}

static bool is_same(const void *context, uint32_t id, const void *key)
{
	const struct entry *entry = &((const struct cubin_cache *)context)->entries[id - 1];
	const struct entry *wanted = key;

	return entry->digest == wanted->digest && entry->size == wanted->size;
}

/* The entry is not in the index yet. 0: out of memory. */
static uint32_t take_entry(struct cubin_cache *cache)
{
	uint32_t id = cache->free;

	if (id) {
		cache->free = cache->entries[id - 1].next_free;
		return id;
	}
	if (array_reserve(&cache->entries, &cache->room, cache->nr_entries + 1ull,
			  sizeof(*cache->entries)))
		return 0;
	cache->entries[cache->nr_entries] = (struct entry){0};
	return ++cache->nr_entries;
}

static void free_entry(struct cubin_cache *cache, uint32_t id)
{
	cache->entries[id - 1] = (struct entry){.next_free = cache->free};
	cache->free = id;
}

static int add(struct cubin_cache *cache, struct entry *made, uint32_t *id)
{
	uint32_t taken = take_entry(cache);

	if (!taken)
		return -ENOMEM;
	if (hash_index_insert(&cache->index, (uint32_t)made->digest, taken)) {
		free_entry(cache, taken);
		return -ENOMEM;
	}
	cache->entries[taken - 1] = *made;
	cache->count++;
	*id = taken;
	return 0;
}

int cubin_cache_get(struct cubin_cache *cache, const void *image, size_t size, uint32_t *id)
{
	struct entry wanted = {
		.digest = hash_index_digest(0, image, size), .size = size, .users = 1};

	*id = hash_index_find(&cache->index, (uint32_t)wanted.digest, is_same, cache, &wanted);
	if (*id) {
		cache->entries[*id - 1].users++;
		return 0;
	}
	int error = cubin_lines_create(image, size, &wanted.lines);
	if (!error)
		error = add(cache, &wanted, id);
	if (error)
		cubin_lines_destroy(wanted.lines);
	return error;
}

void cubin_cache_put(struct cubin_cache *cache, uint32_t id)
{
	struct entry *entry = &cache->entries[id - 1];

	if (--entry->users)
		return;
	hash_index_replace(&cache->index, (uint32_t)entry->digest, id, 0);
	cubin_lines_destroy(entry->lines);
	free_entry(cache, id);
	cache->count--;
}

const struct cubin_lines *cubin_cache_lines(const struct cubin_cache *cache, uint32_t id)
{
	return cache->entries[id - 1].lines;
}

uint32_t cubin_cache_count(const struct cubin_cache *cache)
{
	return cache->count;
}
