#include "cubin_cache.h"

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
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
	struct cubin_worker worker;
	pthread_mutex_t lock; /* of all below; no table is made under it */
	uint32_t holders;
	struct entry *entries; /* owns; by id - 1 */
	uint32_t nr_entries, room;
	uint32_t free, count;
	struct hash_index index;
};

struct cubin_cache *cubin_cache_create(const struct cubin_worker *worker)
{
	struct cubin_cache *cache = calloc(1, sizeof(*cache));

	if (!cache)
		return NULL;
	if (worker)
		cache->worker = *worker;
	pthread_mutex_init(&cache->lock, NULL);
	cache->holders = 1;
	return cache;
}

void cubin_cache_hold(struct cubin_cache *cache)
{
	pthread_mutex_lock(&cache->lock);
	cache->holders++;
	pthread_mutex_unlock(&cache->lock);
}

void cubin_cache_destroy(struct cubin_cache *cache)
{
	if (!cache)
		return;
	pthread_mutex_lock(&cache->lock);
	bool is_last = --cache->holders == 0;
	pthread_mutex_unlock(&cache->lock);
	if (!is_last)
		return;
	for (uint32_t i = 0; i < cache->nr_entries; i++)
		cubin_lines_destroy(cache->entries[i].lines);
	free(cache->entries);
	hash_index_fini(&cache->index);
	pthread_mutex_destroy(&cache->lock);
	free(cache);
}

const struct cubin_worker *cubin_cache_worker(const struct cubin_cache *cache)
{
	return cache->worker.give ? &cache->worker : NULL;
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

/* Needs the lock. Returns 0 if there is no such table. */
static uint32_t use(struct cubin_cache *cache, const struct entry *wanted)
{
	uint32_t id =
		hash_index_find(&cache->index, (uint32_t)wanted->digest, is_same, cache, wanted);

	if (id)
		cache->entries[id - 1].users++;
	return id;
}

int cubin_cache_get(struct cubin_cache *cache, const void *image, size_t size, uint32_t *id)
{
	struct entry wanted = {
		.digest = hash_index_digest(0, image, size), .size = size, .users = 1};
	int error = 0;

	pthread_mutex_lock(&cache->lock);
	*id = use(cache, &wanted);
	pthread_mutex_unlock(&cache->lock);
	if (*id)
		return 0;
	error = cubin_lines_create(image, size, &wanted.lines);
	if (error)
		return error;
	pthread_mutex_lock(&cache->lock);
	*id = use(cache, &wanted); /* another thread may have made it meanwhile */
	bool is_kept = !*id;
	if (is_kept)
		error = add(cache, &wanted, id);
	pthread_mutex_unlock(&cache->lock);
	if (!is_kept || error)
		cubin_lines_destroy(wanted.lines);
	return error;
}

void cubin_cache_put(struct cubin_cache *cache, uint32_t id)
{
	struct cubin_lines *lines = NULL;

	pthread_mutex_lock(&cache->lock);
	struct entry *entry = &cache->entries[id - 1];
	if (--entry->users == 0) {
		lines = entry->lines;
		hash_index_replace(&cache->index, (uint32_t)entry->digest, id, 0);
		free_entry(cache, id);
		cache->count--;
	}
	pthread_mutex_unlock(&cache->lock);
	cubin_lines_destroy(lines);
}

const struct cubin_lines *cubin_cache_lines(struct cubin_cache *cache, uint32_t id)
{
	pthread_mutex_lock(&cache->lock);
	const struct cubin_lines *lines = cache->entries[id - 1].lines;
	pthread_mutex_unlock(&cache->lock);
	return lines;
}

uint32_t cubin_cache_count(struct cubin_cache *cache)
{
	pthread_mutex_lock(&cache->lock);
	uint32_t count = cache->count;
	pthread_mutex_unlock(&cache->lock);
	return count;
}
