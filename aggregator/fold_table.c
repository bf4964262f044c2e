#include "fold_table.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "hash_index.h"

#define SLOTS_MIN 1024u /* power of two */

static_assert(sizeof(struct fold_key) == 9 * sizeof(uint32_t),
	      "keys are compared and hashed as bytes");

/* Upper half: the key's hash, so that a probe seldom touches a row it does not want. */
typedef uint64_t slot_t;

struct fold_table {
	struct fold_row *rows;
	uint32_t nr_rows, room; /* room is half the slots: every probe ends */
	slot_t *slots;          /* hash << 32 | row index + 1; 0: empty */
	uint32_t slot_mask;
};

static void place(slot_t *slots, uint32_t mask, uint32_t hash, uint32_t row)
{
	uint32_t i = hash & mask;

	while (slots[i])
		i = (i + 1) & mask;
	slots[i] = (slot_t)hash << 32 | (row + 1);
}

static int grow(struct fold_table *table)
{
	uint32_t nr_slots = table->slots ? 2 * (table->slot_mask + 1) : SLOTS_MIN;
	if (nr_slots == 0)
		return -ENOMEM;

	slot_t *slots = calloc(nr_slots, sizeof(*slots));
	struct fold_row *rows = realloc(table->rows, (size_t)nr_slots / 2 * sizeof(*rows));
	if (rows)
		table->rows = rows;
	if (!slots || !rows) {
		free(slots);
		return -ENOMEM;
	}
	for (uint32_t i = 0; table->slots && i <= table->slot_mask; i++)
		if (table->slots[i])
			place(slots, nr_slots - 1, (uint32_t)(table->slots[i] >> 32),
			      (uint32_t)table->slots[i] - 1);
	free(table->slots);
	table->slots = slots;
	table->slot_mask = nr_slots - 1;
	table->room = nr_slots / 2;
	return 0;
}

struct fold_table *fold_table_create(void)
{
	struct fold_table *table = calloc(1, sizeof(*table));

	if (table && grow(table)) {
		fold_table_destroy(table);
		return NULL;
	}
	return table;
}

void fold_table_destroy(struct fold_table *table)
{
	if (!table)
		return;
	free(table->rows);
	free(table->slots);
	free(table);
}

static uint64_t add_saturating(uint64_t a, uint64_t b)
{
	uint64_t sum;

	return __builtin_add_overflow(a, b, &sum) ? UINT64_MAX : sum;
}

/* The key's row, or NULL. */
static struct fold_row *find(const struct fold_table *table, const struct fold_key *key,
			     uint32_t hash)
{
	for (uint32_t i = hash & table->slot_mask; table->slots[i];
	     i = (i + 1) & table->slot_mask) {
		if (table->slots[i] >> 32 != hash)
			continue;
		struct fold_row *row = &table->rows[(uint32_t)table->slots[i] - 1];
		if (memcmp(&row->key, key, sizeof(*key)) == 0)
			return row;
	}
	return NULL;
}

int fold_table_add(struct fold_table *table, const struct fold_key *key, uint64_t count,
		   uint64_t ns, uint64_t bytes)
{
	uint32_t hash = hash_index_hash(key, sizeof(*key));
	struct fold_row *row = find(table, key, hash);

	if (!row) {
		if (table->nr_rows == table->room && grow(table))
			return -ENOMEM;
		row = &table->rows[table->nr_rows];
		*row = (struct fold_row){.key = *key};
		place(table->slots, table->slot_mask, hash, table->nr_rows++);
	}
	row->count = add_saturating(row->count, count);
	row->ns = add_saturating(row->ns, ns);
	row->bytes = add_saturating(row->bytes, bytes);
	return 0;
}

const struct fold_row *fold_table_rows(const struct fold_table *table, uint32_t *nr_rows)
{
	*nr_rows = table->nr_rows;
	return table->rows;
}

void fold_table_clear(struct fold_table *table)
{
	memset(table->slots, 0, ((size_t)table->slot_mask + 1) * sizeof(*table->slots));
	table->nr_rows = 0;
}
