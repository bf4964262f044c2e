#include "waiting_records.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"

void waiting_records_fini(struct waiting_records *waiting)
{
	free(waiting->records);
	hash_index_fini(&waiting->keys);
	free(waiting->loaded);
	block_set_fini(&waiting->changed);
	*waiting = (struct waiting_records){0};
}

static uint64_t key_of(uint32_t window, uint32_t correlation_id)
{
	return (uint64_t)window << 32 | correlation_id;
}

static bool has_key(const void *context, uint32_t id, const void *key)
{
	const struct waiting_records *waiting = context;
	const struct gpu_record *record = &waiting->records[id - 1].record;

	return key_of(record->window, record->correlation_id) == *(const uint64_t *)key;
}

static uint32_t newest_of(const struct waiting_records *waiting, uint64_t key)
{
	return hash_index_find(&waiting->keys, hash_index_hash_word(key), has_key, waiting, &key);
}

/* The index has room for every record. */
static void link_key(struct waiting_records *waiting, uint32_t id)
{
	struct waiting_record *entry = &waiting->records[id - 1];
	uint64_t key = key_of(entry->record.window, entry->record.correlation_id);
	uint32_t hash = hash_index_hash_word(key), newest = newest_of(waiting, key);

	entry->newer_of_key = 0;
	entry->older_of_key = newest;
	if (newest) {
		waiting->records[newest - 1].newer_of_key = id;
		hash_index_replace(&waiting->keys, hash, newest, id);
	} else {
		hash_index_insert(&waiting->keys, hash, id);
	}
}

/* It is called only when no record is unused. */
static int grow(struct waiting_records *waiting)
{
	uint32_t room = waiting->room;

	if (array_reserve(&waiting->records, &room, room + 1, sizeof(*waiting->records)) ||
	    hash_index_reserve(&waiting->keys, room))
		return -ENOMEM;
	for (uint32_t i = room; i > waiting->room; i--) {
		waiting->records[i - 1].newer = waiting->unused;
		waiting->unused = i;
	}
	waiting->room = room;
	return 0;
}

static int touch(struct waiting_records *waiting, uint64_t order)
{
	if (!waiting->track_changes)
		return 0;
	return block_set_add(&waiting->changed, order / WAITING_RECORDS_BLOCK);
}

static int append(struct waiting_records *waiting, const struct gpu_record *record, uint64_t order)
{
	if (!waiting->unused && grow(waiting))
		return -ENOMEM;

	uint32_t id = waiting->unused;
	struct waiting_record *entry = &waiting->records[id - 1];
	waiting->unused = entry->newer;
	*entry = (struct waiting_record){
		.record = *record, .order = order, .older = waiting->newest};
	if (waiting->newest)
		waiting->records[waiting->newest - 1].newer = id;
	else
		waiting->oldest = id;
	waiting->newest = id;
	link_key(waiting, id);
	waiting->count++;
	return 0;
}

int waiting_records_add(struct waiting_records *waiting, const struct gpu_record *record,
			uint64_t order)
{
	int error = append(waiting, record, order);

	return error ? error : touch(waiting, order);
}

static void unlink_key(struct waiting_records *waiting, uint32_t id)
{
	const struct waiting_record *entry = &waiting->records[id - 1];
	uint64_t key = key_of(entry->record.window, entry->record.correlation_id);

	if (entry->newer_of_key)
		waiting->records[entry->newer_of_key - 1].older_of_key = entry->older_of_key;
	else
		hash_index_replace(&waiting->keys, hash_index_hash_word(key), id,
				   entry->older_of_key);
	if (entry->older_of_key)
		waiting->records[entry->older_of_key - 1].newer_of_key = entry->newer_of_key;
}

/* Returns 1 or -ENOMEM. */
static int take(struct waiting_records *waiting, uint32_t id, struct gpu_record *record)
{
	struct waiting_record *entry = &waiting->records[id - 1];
	uint64_t order = entry->order;

	*record = entry->record;
	unlink_key(waiting, id);
	if (entry->older)
		waiting->records[entry->older - 1].newer = entry->newer;
	else
		waiting->oldest = entry->newer;
	if (entry->newer)
		waiting->records[entry->newer - 1].older = entry->older;
	else
		waiting->newest = entry->older;
	entry->newer = waiting->unused;
	waiting->unused = id;
	waiting->count--;
	int error = touch(waiting, order);
	return error ? error : 1;
}

int waiting_records_take(struct waiting_records *waiting, uint32_t window, uint32_t correlation_id,
			 struct gpu_record *record)
{
	uint32_t id = waiting->count ? newest_of(waiting, key_of(window, correlation_id)) : 0;

	return id ? take(waiting, id, record) : 0;
}

int waiting_records_take_oldest(struct waiting_records *waiting, struct gpu_record *record)
{
	return waiting->oldest ? take(waiting, waiting->oldest, record) : 0;
}

static uint64_t block_of(const struct waiting_records *waiting, uint32_t id)
{
	return waiting->records[id - 1].order / WAITING_RECORDS_BLOCK;
}

/* Records are linked in the order of their blocks, so one walk yields every block. */
static int save_changed(const struct waiting_records *waiting, waiting_records_put *put,
			void *context)
{
	struct waiting_records_entry records[WAITING_RECORDS_BLOCK];
	uint32_t id = waiting->oldest;
	int error = 0;

	while (id && !error) {
		uint64_t block = block_of(waiting, id);
		uint32_t count = 0;

		for (; id && block_of(waiting, id) == block; id = waiting->records[id - 1].newer)
			records[count++] = (struct waiting_records_entry){
				waiting->records[id - 1].record, waiting->records[id - 1].order};
		if (block_set_has(&waiting->changed, block))
			error = put(context, block, records, count);
	}
	return error;
}

static bool has_records(const struct waiting_records *waiting, uint64_t block)
{
	for (uint32_t id = waiting->oldest; id; id = waiting->records[id - 1].newer)
		if (block_of(waiting, id) >= block)
			return block_of(waiting, id) == block;
	return false;
}

int waiting_records_save(const struct waiting_records *waiting, waiting_records_put *put,
			 void *context)
{
	const struct block_set *blocks = &waiting->changed;
	int error = blocks->count ? save_changed(waiting, put, context) : 0;

	for (uint32_t i = 0; i < blocks->count && !error; i++)
		if (!has_records(waiting, blocks->blocks[i]))
			error = put(context, blocks->blocks[i], NULL, 0);
	return error;
}

void waiting_records_saved(struct waiting_records *waiting)
{
	block_set_clear(&waiting->changed);
}

int waiting_records_load(struct waiting_records *waiting,
			 const struct waiting_records_entry *record)
{
	if (array_reserve(&waiting->loaded, &waiting->room_loaded, waiting->nr_loaded + 1,
			  sizeof(*waiting->loaded)))
		return -ENOMEM;
	waiting->loaded[waiting->nr_loaded++] = *record;
	return 0;
}

static int by_order(const void *a, const void *b)
{
	const struct waiting_records_entry *first = a, *second = b;

	return (first->order > second->order) - (first->order < second->order);
}

int waiting_records_load_end(struct waiting_records *waiting)
{
	int error = 0;

	if (waiting->nr_loaded)
		qsort(waiting->loaded, waiting->nr_loaded, sizeof(*waiting->loaded), by_order);
	for (uint32_t i = 0; i < waiting->nr_loaded && !error; i++)
		error = append(waiting, &waiting->loaded[i].record, waiting->loaded[i].order);
	free(waiting->loaded);
	waiting->loaded = NULL;
	waiting->nr_loaded = waiting->room_loaded = 0;
	return error;
}
