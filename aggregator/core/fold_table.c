#include "fold_table.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/hash_index.h"

static_assert(sizeof(struct fold_key) == 9 * sizeof(uint32_t),
	      "keys are compared and hashed as bytes");

struct fold_table {
	struct fold_row *rows;
	uint32_t nr_rows, room;
	struct hash_index index; /* holds row indexes, + 1 */
};

struct fold_table *fold_table_create(void)
{
	return calloc(1, sizeof(struct fold_table));
}

void fold_table_destroy(struct fold_table *table)
{
	if (!table)
		return;
	free(table->rows);
	hash_index_fini(&table->index);
	free(table);
}

static uint64_t add_saturating(uint64_t a, uint64_t b)
{
	uint64_t sum;

	return __builtin_add_overflow(a, b, &sum) ? UINT64_MAX : sum;
}

static bool has_key(const void *context, uint32_t id, const void *key)
{
	const struct fold_table *table = context;

	return memcmp(&table->rows[id - 1].key, key, sizeof(struct fold_key)) == 0;
}

uint32_t fold_table_hash(const struct fold_key *key)
{
	return hash_index_hash(key, sizeof(*key));
}

struct fold_row *fold_table_find(const struct fold_table *table, const struct fold_key *key,
				 uint32_t hash)
{
	uint32_t id = hash_index_find(&table->index, hash, has_key, table, key);

	return id ? &table->rows[id - 1] : NULL;
}

struct fold_row *fold_table_append(struct fold_table *table, const struct fold_key *key,
				   uint32_t hash)
{
	if (array_reserve(&table->rows, &table->room, table->nr_rows + 1, sizeof(*table->rows)) ||
	    hash_index_insert(&table->index, hash, table->nr_rows + 1))
		return NULL;
	table->rows[table->nr_rows] = (struct fold_row){.key = *key};
	return &table->rows[table->nr_rows++];
}

void fold_row_add(struct fold_row *row, uint64_t count, uint64_t ns, uint64_t bytes)
{
	row->count = add_saturating(row->count, count);
	row->ns = add_saturating(row->ns, ns);
	row->bytes = add_saturating(row->bytes, bytes);
}

int fold_table_add(struct fold_table *table, const struct fold_key *key, uint64_t count,
		   uint64_t ns, uint64_t bytes)
{
	uint32_t hash = fold_table_hash(key);
	struct fold_row *row = fold_table_find(table, key, hash);

	if (!row)
		row = fold_table_append(table, key, hash);
	if (!row)
		return -ENOMEM;
	fold_row_add(row, count, ns, bytes);
	return 0;
}

/* A row may lie in two lines of the cache. */
void fold_table_prefetch(const struct fold_table *table, const uint32_t *hashes, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++)
		hash_index_prefetch(&table->index, hashes[i]);
	for (uint32_t i = 0; i < count; i++) {
		uint32_t id = hash_index_guess(&table->index, hashes[i]);

		if (id) {
			__builtin_prefetch(&table->rows[id - 1], 1);
			__builtin_prefetch((const char *)&table->rows[id] - 1, 1);
		}
	}
}

const struct fold_row *fold_table_rows(const struct fold_table *table, uint32_t *nr_rows)
{
	*nr_rows = table->nr_rows;
	return table->rows;
}

void fold_table_clear(struct fold_table *table)
{
	hash_index_clear(&table->index);
	table->nr_rows = 0;
}
