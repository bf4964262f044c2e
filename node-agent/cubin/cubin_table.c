#include "cubin_table.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/hash_index.h"
#include "cubin_cache.h"
#include "cubin_task.h"

struct cubin {
	uint64_t crc;
	uint32_t size, missing;  /* bytes */
	uint8_t *bytes;          /* owns; while it is partial */
	uint64_t *has;           /* owns; a bit for each byte that has come */
	struct cubin_task *task; /* owns; while it waits */
	uint32_t next_waiting;   /* id of the one that began to wait after it; 0: none */
	uint32_t lines;          /* id in the cache; 0: none */
	enum cubin_state state;
};

struct cubin_table {
	struct cubin_cache *cache;
	uid_t user;
	uint32_t first_waiting, last_waiting; /* ids; 0: none */
	struct cubin *cubins;                 /* owns; by id - 1 */
	uint32_t nr_cubins, room;
	struct hash_index index;
	uint64_t held; /* bytes */
	struct cubin_counts counts;
};

struct cubin_table *cubin_table_create(struct cubin_cache *cache, uid_t user)
{
	struct cubin_table *table = calloc(1, sizeof(*table));

	if (!table)
		return NULL;
	table->cache = cache;
	table->user = user;
	return table;
}

void cubin_table_destroy(struct cubin_table *table)
{
	if (!table)
		return;
	for (uint32_t i = 0; i < table->nr_cubins; i++) {
		struct cubin *cubin = &table->cubins[i];

		free(cubin->bytes);
		free(cubin->has);
		if (cubin->task)
			cubin_task_leave(cubin->task);
		if (cubin->lines)
			cubin_cache_put(table->cache, cubin->lines);
	}
	free(table->cubins);
	hash_index_fini(&table->index);
	free(table);
}

/* ---- states */

static uint64_t *count_of(struct cubin_table *table, enum cubin_state state)
{
	switch (state) {
	case CUBIN_PARTIAL:
		return &table->counts.partial;
	case CUBIN_WITH_LINES:
		return &table->counts.with_lines;
	case CUBIN_WITHOUT_LINES:
		return &table->counts.without_lines;
	case CUBIN_WAITING:
		return &table->counts.waiting;
	case CUBIN_DAMAGED:
		return &table->counts.damaged;
	default:
		return &table->counts.refused;
	}
}

static void set_state(struct cubin_table *table, struct cubin *cubin, enum cubin_state state)
{
	if (cubin->state == CUBIN_PARTIAL || cubin->state == CUBIN_WAITING)
		--*count_of(table, cubin->state);
	cubin->state = state;
	++*count_of(table, state);
}

static uint64_t size_of_has(const struct cubin *cubin)
{
	return (cubin->size + 63ull) / 64 * sizeof(*cubin->has);
}

static bool has_room(const struct cubin_table *table, uint64_t size)
{
	return size <= CUBIN_TABLE_SIZE_MAX - table->held;
}

static void drop_bytes(struct cubin_table *table, struct cubin *cubin)
{
	table->held -= cubin->size + size_of_has(cubin);
	free(cubin->bytes);
	free(cubin->has);
	cubin->bytes = NULL;
	cubin->has = NULL;
}

/* ---- chunks */

static bool has_crc(const void *context, uint32_t id, const void *key)
{
	const struct cubin_table *table = context;

	return table->cubins[id - 1].crc == *(const uint64_t *)key;
}

static struct cubin *find_cubin(const struct cubin_table *table, uint64_t crc)
{
	uint32_t id =
		hash_index_find(&table->index, hash_index_hash_word(crc), has_crc, table, &crc);

	return id ? &table->cubins[id - 1] : NULL;
}

/* Makes room for the bytes of a cubin, or refuses it. */
static int begin(struct cubin_table *table, struct cubin *cubin)
{
	uint64_t size = cubin->size + size_of_has(cubin);

	if (cubin->size > CUBIN_SIZE_MAX || !has_room(table, size)) {
		set_state(table, cubin, CUBIN_REFUSED);
		return 0;
	}
	cubin->bytes = malloc(cubin->size);
	cubin->has = calloc(1, size_of_has(cubin));
	table->held += size;
	if (!cubin->bytes || !cubin->has) {
		drop_bytes(table, cubin);
		set_state(table, cubin, CUBIN_REFUSED);
		return -ENOMEM;
	}
	set_state(table, cubin, CUBIN_PARTIAL);
	return 0;
}

/* A cubin that cannot be remembered is counted with its first byte. */
static int add_cubin(struct cubin_table *table, uint64_t crc, uint32_t size, uint32_t offset)
{
	bool is_full = table->nr_cubins == CUBIN_TABLE_MAX;

	if (is_full ||
	    array_reserve(&table->cubins, &table->room, table->nr_cubins + 1ull,
			  sizeof(*table->cubins)) ||
	    hash_index_insert(&table->index, hash_index_hash_word(crc), table->nr_cubins + 1)) {
		table->counts.refused += offset == 0;
		return is_full ? -EFBIG : -ENOMEM;
	}
	struct cubin *cubin = &table->cubins[table->nr_cubins++];
	*cubin = (struct cubin){.crc = crc, .size = size, .missing = size};
	return begin(table, cubin);
}

/* Marks the bytes, and returns how many of them are new. */
static uint32_t mark(uint64_t *has, uint32_t offset, uint32_t nr_bytes)
{
	uint32_t nr_new = 0, end = offset + nr_bytes;

	while (offset < end) {
		uint32_t bit = offset % 64,
			 count = 64 - bit < end - offset ? 64 - bit : end - offset;
		uint64_t bits = (count == 64 ? UINT64_MAX : (UINT64_C(1) << count) - 1) << bit;

		nr_new += (uint32_t)__builtin_popcountll(bits & ~has[offset / 64]);
		has[offset / 64] |= bits;
		offset += count;
	}
	return nr_new;
}

/* ---- tables */

static void append(struct cubin_table *table, struct cubin *cubin)
{
	uint32_t id = (uint32_t)(cubin - table->cubins) + 1;

	if (table->last_waiting)
		table->cubins[table->last_waiting - 1].next_waiting = id;
	else
		table->first_waiting = id;
	table->last_waiting = id;
}

/* Takes the table of a task that is done. */
static int settle(struct cubin_table *table, struct cubin *cubin)
{
	int error = cubin_task_end(cubin->task, &cubin->lines);

	cubin->task = NULL;
	table->held -= cubin->size;
	if (error == -EBADMSG || error == -ENODATA) {
		set_state(table, cubin, error == -EBADMSG ? CUBIN_DAMAGED : CUBIN_WITHOUT_LINES);
		return 0;
	}
	uint64_t size = error ? 0 : cubin_lines_size(cubin_cache_lines(table->cache, cubin->lines));
	if (!error && has_room(table, size)) {
		table->held += size;
		set_state(table, cubin, CUBIN_WITH_LINES);
		return 0;
	}
	if (!error)
		cubin_cache_put(table->cache, cubin->lines);
	cubin->lines = 0;
	set_state(table, cubin, CUBIN_REFUSED);
	return error ? error : -EFBIG;
}

/* All bytes have come. They are counted until the task is done. */
static int finish(struct cubin_table *table, struct cubin *cubin)
{
	uint8_t *bytes = cubin->bytes;

	table->held -= size_of_has(cubin);
	free(cubin->has);
	cubin->has = NULL;
	cubin->bytes = NULL;
	int error = cubin_task_begin(table->cache, table->user, bytes, cubin->size, &cubin->task);
	if (error) {
		table->held -= cubin->size;
		set_state(table, cubin, CUBIN_REFUSED);
		return error;
	}
	if (cubin_task_is_done(cubin->task))
		return settle(table, cubin);
	set_state(table, cubin, CUBIN_WAITING);
	append(table, cubin);
	return 0;
}

void cubin_table_step(struct cubin_table *table)
{
	uint32_t id = table->first_waiting;

	table->first_waiting = table->last_waiting = 0;
	while (id) {
		struct cubin *cubin = &table->cubins[id - 1];

		id = cubin->next_waiting;
		cubin->next_waiting = 0;
		if (cubin->task && cubin_task_is_done(cubin->task))
			settle(table, cubin);
		else if (cubin->task)
			append(table, cubin);
	}
}

void cubin_table_give_up(struct cubin_table *table, uint64_t crc)
{
	struct cubin *cubin = find_cubin(table, crc);

	if (!cubin || !cubin->task)
		return;
	cubin_task_leave(cubin->task);
	cubin->task = NULL;
	table->held -= cubin->size;
	set_state(table, cubin, CUBIN_REFUSED);
}

int cubin_table_chunk(struct cubin_table *table, uint64_t crc, uint32_t size, uint32_t offset,
		      const void *bytes, uint32_t nr_bytes)
{
	struct cubin *cubin = find_cubin(table, crc);

	if (nr_bytes == 0 || nr_bytes > size || offset > size - nr_bytes ||
	    (cubin && cubin->size != size))
		return -EINVAL;
	if (!cubin) {
		int error = add_cubin(table, crc, size, offset);

		if (error)
			return error;
		cubin = &table->cubins[table->nr_cubins - 1];
	}
	if (cubin->state == CUBIN_REFUSED)
		return -EFBIG;
	if (cubin->state != CUBIN_PARTIAL)
		return 0;
	memcpy(cubin->bytes + offset, bytes, nr_bytes);
	cubin->missing -= mark(cubin->has, offset, nr_bytes);
	return cubin->missing ? 0 : finish(table, cubin);
}

/* ---- search */

enum cubin_state cubin_table_state(const struct cubin_table *table, uint64_t crc)
{
	const struct cubin *cubin = find_cubin(table, crc);

	return cubin ? cubin->state : CUBIN_UNKNOWN;
}

struct cubin_code cubin_table_code(const struct cubin_table *table, uint64_t crc,
				   const char *function)
{
	const struct cubin *cubin = find_cubin(table, crc);

	return cubin && cubin->lines
		       ? cubin_lines_code(cubin_cache_lines(table->cache, cubin->lines), function)
		       : (struct cubin_code){0};
}

void cubin_table_count(const struct cubin_table *table, struct cubin_counts *counts)
{
	*counts = table->counts;
}
