#include "text_pool.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/hash_index.h"

#define CHUNK_BYTES (64u << 10)

struct text {
	const char *data;
	uint32_t size;
};

struct chunk {
	struct chunk *previous;
	char data[];
};

struct text_pool {
	struct text *texts; /* texts[id - 1] */
	uint32_t nr_texts, room;
	struct hash_index index;
	struct chunk *chunk; /* the newest chunk, which leads to all others; owns */
	size_t used, size;   /* bytes of the newest chunk */
};

struct text_pool *text_pool_create(void)
{
	return calloc(1, sizeof(struct text_pool));
}

void text_pool_destroy(struct text_pool *pool)
{
	if (!pool)
		return;
	while (pool->chunk) {
		struct chunk *previous = pool->chunk->previous;

		free(pool->chunk);
		pool->chunk = previous;
	}
	hash_index_fini(&pool->index);
	free(pool->texts);
	free(pool);
}

static bool text_equals(const void *context, uint32_t id, const void *key)
{
	const struct text_pool *pool = context;
	const struct text *text = &pool->texts[id - 1], *wanted = key;

	return text->size == wanted->size &&
	       (text->size == 0 || memcmp(text->data, wanted->data, text->size) == 0);
}

static char *allocate(struct text_pool *pool, size_t size)
{
	if (!pool->chunk || pool->size - pool->used < size) {
		size_t chunk_size = size > CHUNK_BYTES ? size : CHUNK_BYTES;
		struct chunk *chunk = malloc(sizeof(*chunk) + chunk_size);

		if (!chunk)
			return NULL;
		chunk->previous = pool->chunk;
		pool->chunk = chunk;
		pool->used = 0;
		pool->size = chunk_size;
	}
	char *data = pool->chunk->data + pool->used;
	pool->used += size;
	return data;
}

static uint32_t find(const struct text_pool *pool, const char *data, uint32_t size, uint32_t hash)
{
	struct text wanted = {data, size};

	return hash_index_find(&pool->index, hash, text_equals, pool, &wanted);
}

uint32_t text_pool_find(const struct text_pool *pool, const char *data, uint32_t size)
{
	return find(pool, data, size, hash_index_hash(data, size));
}

int text_pool_intern(struct text_pool *pool, const char *data, uint32_t size, uint32_t *id)
{
	uint32_t hash = hash_index_hash(data, size);

	*id = find(pool, data, size, hash);
	if (*id)
		return 0;
	if (array_reserve(&pool->texts, &pool->room, pool->nr_texts + 1, sizeof(*pool->texts)))
		return -ENOMEM;
	char *copy = allocate(pool, (size_t)size + 1);
	if (!copy || hash_index_insert(&pool->index, hash, pool->nr_texts + 1))
		return -ENOMEM;
	if (size)
		memcpy(copy, data, size);
	copy[size] = '\0';
	pool->texts[pool->nr_texts++] = (struct text){copy, size};
	*id = pool->nr_texts;
	return 0;
}

const char *text_pool_get(const struct text_pool *pool, uint32_t id, uint32_t *size)
{
	bool known = id > 0 && id <= pool->nr_texts;

	if (size)
		*size = known ? pool->texts[id - 1].size : 0;
	return known ? pool->texts[id - 1].data : "";
}

uint32_t text_pool_count(const struct text_pool *pool)
{
	return pool->nr_texts;
}
