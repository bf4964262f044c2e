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
	fold_table_clear(table);
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

static void add_sums(struct fold_row *row, uint64_t count, uint64_t ns, uint64_t bytes)
{
	row->count = add_saturating(row->count, count);
	row->ns = add_saturating(row->ns, ns);
	row->bytes = add_saturating(row->bytes, bytes);
}

/* ---- histograms */

void fold_row_fini(struct fold_row *row)
{
	duration_bins_fini(&row->bins);
}

/* instead: FOLD_NEAR_NONE or FOLD_NEAR_DAMAGED. A damaged histogram stays one. */
static void forget_bins(struct fold_row *row, uint32_t instead)
{
	duration_bins_fini(&row->bins);
	memset(row->near, 0, sizeof(row->near));
	if (row->near_first != FOLD_NEAR_DAMAGED)
		row->near_first = instead;
}

/* Begins a row's histogram around this bucket. */
static void begin_bins(struct fold_row *row, uint32_t bucket)
{
	row->near_first = bucket < FOLD_NEAR / 2 ? 0 : bucket - FOLD_NEAR / 2 + 1;
}

/* The row is not without a histogram. 0; -ENOMEM: unchanged. */
static int add_bin(struct fold_row *row, uint32_t bucket, uint64_t count)
{
	const uint32_t i = bucket - row->near_first;
	uint8_t *near = i < FOLD_NEAR ? &row->near[i] : NULL;

	if (near && count <= (uint64_t)UINT8_MAX - *near) {
		*near = (uint8_t)(*near + count);
		return 0;
	}
	if (duration_bins_add(&row->bins, bucket, add_saturating(count, near ? *near : 0)))
		return -ENOMEM;
	if (near)
		*near = 0;
	return 0;
}

void fold_row_add(struct fold_row *row, uint64_t count, uint64_t ns, uint64_t bytes)
{
	forget_bins(row, FOLD_NEAR_NONE);
	add_sums(row, count, ns, bytes);
}

/* Counts a duration that is not near, or the first one. */
static int add_far(struct fold_row *row, uint32_t bucket)
{
	if (row->count == 0)
		begin_bins(row, bucket);
	return row->near_first >= FOLD_NEAR_NONE ? 0 : add_bin(row, bucket, 1);
}

int fold_row_add_one(struct fold_row *row, uint64_t ns, uint64_t bytes)
{
	const uint32_t bucket = duration_bucket(ns), i = bucket - row->near_first;

	if (i < FOLD_NEAR && row->near[i] < UINT8_MAX)
		row->near[i]++;
	else if (add_far(row, bucket))
		return -ENOMEM;
	add_sums(row, 1, ns, bytes);
	return 0;
}

uint32_t fold_row_list(const struct fold_row *row, struct duration_bin *list)
{
	uint32_t nr = 0;

	if (row->near_first >= FOLD_NEAR_NONE)
		return 0;
	if (row->bins.first)
		nr = duration_bins_list(&row->bins, list);
	for (uint32_t i = 0; i < FOLD_NEAR; i++) {
		const uint32_t bucket = row->near_first + i;
		uint32_t at = nr;

		if (!row->near[i])
			continue;
		while (at > 0 && list[at - 1].bucket >= bucket)
			at--;
		if (at == nr || list[at].bucket != bucket) {
			memmove(&list[at + 1], &list[at], (nr++ - at) * sizeof(*list));
			list[at] = (struct duration_bin){.bucket = bucket};
		}
		list[at].count = add_saturating(list[at].count, row->near[i]);
	}
	return nr;
}

int fold_row_set(struct fold_row *row, const struct duration_bin *list, uint32_t nr)
{
	int error = 0;

	if (nr == 0 || !duration_list_holds(list, nr, row->ns)) {
		forget_bins(row, FOLD_NEAR_DAMAGED);
		return 0;
	}
	forget_bins(row, FOLD_NEAR_NONE);
	begin_bins(row, list->bucket);
	for (uint32_t i = 0; i < nr && !error; i++)
		error = add_bin(row, list[i].bucket, list[i].count);
	if (error)
		forget_bins(row, FOLD_NEAR_NONE);
	return error;
}

/* The counts are those before the others are added, of which nr 0 says that no histogram is known. */
static int join_list(struct fold_row *row, uint64_t count, const struct duration_bin *list,
		     uint32_t nr)
{
	int error = 0;

	if (count == 0 || row->near_first == FOLD_NEAR_DAMAGED ||
	    (row->count && row->near_first == FOLD_NEAR_NONE))
		return 0;
	if (!nr || count > INT64_MAX || row->count > INT64_MAX - count) {
		forget_bins(row, FOLD_NEAR_NONE);
		return 0;
	}
	if (row->count == 0)
		begin_bins(row, list->bucket);
	for (uint32_t i = 0; i < nr && !error; i++)
		error = add_bin(row, list[i].bucket, list[i].count);
	return error;
}

static int join_bins(struct fold_row *row, const struct fold_row *other)
{
	struct duration_bin list[DURATION_BUCKETS];

	if (other->near_first == FOLD_NEAR_DAMAGED)
		forget_bins(row, FOLD_NEAR_DAMAGED);
	return join_list(row, other->count, list, fold_row_list(other, list));
}

int fold_row_add_list(struct fold_row *row, uint64_t count, uint64_t ns, uint64_t bytes,
		      const struct duration_bin *list, uint32_t nr)
{
	const int error = join_list(row, count, list, nr);

	add_sums(row, count, ns, bytes);
	return error;
}

/* ---- rows */

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

int fold_table_join(struct fold_table *table, const struct fold_row *other)
{
	uint32_t hash = fold_table_hash(&other->key);
	struct fold_row *row = fold_table_find(table, &other->key, hash);

	if (!row)
		row = fold_table_append(table, &other->key, hash);
	if (!row)
		return -ENOMEM;
	int error = join_bins(row, other);
	add_sums(row, other->count, other->ns, other->bytes);
	return error;
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

struct fold_row *fold_table_row(struct fold_table *table, uint32_t index)
{
	return &table->rows[index];
}

void fold_table_clear(struct fold_table *table)
{
	for (uint32_t i = 0; i < table->nr_rows; i++)
		fold_row_fini(&table->rows[i]);
	hash_index_clear(&table->index);
	table->nr_rows = 0;
}
