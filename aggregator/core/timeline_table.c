#include "timeline_table.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/hash_index.h"

struct timeline_table {
	struct timeline_entry *entries;
	uint32_t nr_entries, room;
	uint32_t nr_pauses;             /* entries of pauses */
	struct hash_index index;        /* holds entry indexes, + 1, as the next one */
	struct hash_index processes;    /* the first entry of each, from which the others hang */
	uint32_t last[TIMELINE_LEVELS]; /* the entry found last, because records come in runs */
};

struct timeline_table *timeline_table_create(void)
{
	return calloc(1, sizeof(struct timeline_table));
}

void timeline_table_destroy(struct timeline_table *table)
{
	if (!table)
		return;
	for (uint32_t i = 0; i < table->nr_entries; i++)
		stream_timeline_destroy(table->entries[i].timeline);
	hash_index_fini(&table->index);
	hash_index_fini(&table->processes);
	free(table->entries);
	free(table);
}

static inline bool entry_equals(const void *context, uint32_t id, const void *key)
{
	const struct timeline_table *table = context;

	return memcmp(&table->entries[id - 1].key, key, sizeof(struct timeline_key)) == 0;
}

static bool is_of_process(const void *context, uint32_t id, const void *process_id)
{
	const struct timeline_table *table = context;

	return table->entries[id - 1].key.process_id == *(const uint32_t *)process_id;
}

static uint32_t first_of_process(const struct timeline_table *table, uint32_t process_id)
{
	return hash_index_find(&table->processes, hash_index_hash(&process_id, sizeof(process_id)),
			       is_of_process, table, &process_id);
}

/* There are many processes, and each of them ends: its entries are found without a look at all others. */
static int chain(struct timeline_table *table, struct timeline_entry *entry, uint32_t id)
{
	const uint32_t process_id = entry->key.process_id;
	const uint32_t first = first_of_process(table, process_id);

	if (!first)
		return hash_index_insert(&table->processes,
					 hash_index_hash(&process_id, sizeof(process_id)), id);
	entry->next = table->entries[first - 1].next;
	table->entries[first - 1].next = id;
	return 0;
}

static bool is_of_pauses(const struct timeline_key *key)
{
	return key->level == TIMELINE_PAUSES || key->level == TIMELINE_DEVICE_PAUSES;
}

static uint32_t intervals_of(const struct timeline_key *key)
{
	if (is_of_pauses(key))
		return TIMELINE_PAUSES_INTERVALS;
	return key->level == TIMELINE_STREAM ? STREAM_TIMELINE_INTERVALS
					     : STREAM_TIMELINE_DEVICE_INTERVALS;
}

static struct timeline_entry *append(struct timeline_table *table, const struct timeline_key *key,
				     uint32_t hash)
{
	if (array_reserve(&table->entries, &table->room, table->nr_entries + 1,
			  sizeof(*table->entries)))
		return NULL;
	struct timeline_entry *entry = &table->entries[table->nr_entries];
	*entry = (struct timeline_entry){
		.key = *key,
		.timeline = stream_timeline_create(intervals_of(key)),
	};
	if (!entry->timeline || hash_index_reserve(&table->index, table->nr_entries + 1) ||
	    chain(table, entry, table->nr_entries + 1)) {
		stream_timeline_destroy(entry->timeline);
		return NULL;
	}
	hash_index_insert(&table->index, hash, ++table->nr_entries); /* has room */
	table->nr_pauses += is_of_pauses(key);
	return entry;
}

struct timeline_entry *timeline_table_find(struct timeline_table *table,
					   const struct timeline_key *key)
{
	uint32_t *last = &table->last[key->level % TIMELINE_LEVELS];

	if (*last && entry_equals(table, *last, key))
		return &table->entries[*last - 1];
	uint32_t id = hash_index_find(&table->index, hash_index_hash(key, sizeof(*key)),
				      entry_equals, table, key);
	if (!id)
		return NULL;
	*last = id;
	return &table->entries[id - 1];
}

struct timeline_entry *timeline_table_get(struct timeline_table *table,
					  const struct timeline_key *key)
{
	struct timeline_entry *entry = timeline_table_find(table, key);

	return entry ? entry : append(table, key, hash_index_hash(key, sizeof(*key)));
}

int timeline_entry_add(struct timeline_entry *entry, uint64_t start_ns, uint64_t end_ns)
{
	entry->changed = true;
	return stream_timeline_add(entry->timeline, start_ns, end_ns);
}

int timeline_table_add(struct timeline_table *table, const struct timeline_key *key,
		       uint64_t start_ns, uint64_t end_ns)
{
	struct timeline_entry *entry = timeline_table_get(table, key);

	return entry ? timeline_entry_add(entry, start_ns, end_ns) : -ENOMEM;
}

int timeline_table_move(struct timeline_table *table, const struct timeline_key *from,
			const struct timeline_key *to)
{
	struct timeline_entry *entry = timeline_table_find(table, from), *target;

	if (!entry)
		return 0;
	struct stream_timeline *const timeline = entry->timeline; /* an entry may move */
	target = timeline_table_get(table, to);
	if (!target || stream_timeline_take(target->timeline, timeline))
		return -ENOMEM;
	target->changed = true;
	timeline_table_find(table, from)->changed = true;
	return 0;
}

/* Up to the first NCCL kernel, KERNELS equals COMPUTATION, so it begins as a copy. */
static int begin_kernels(struct timeline_table *table, const struct timeline_key *kernels)
{
	struct timeline_key computation = *kernels;
	const struct timeline_entry *from;
	struct timeline_entry *to;

	computation.level = TIMELINE_COMPUTATION;
	if (timeline_table_find(table, kernels))
		return 0;
	to = timeline_table_get(table, kernels);
	if (!to)
		return -ENOMEM;
	to->changed = true;
	from = timeline_table_find(table, &computation);
	return from ? stream_timeline_copy(to->timeline, from->timeline) : 0;
}

int timeline_table_add_kernel(struct timeline_table *table, uint32_t process_id, uint32_t device_id,
			      bool communicates, uint64_t start_ns, uint64_t end_ns)
{
	struct timeline_key part = {
		.level = communicates ? TIMELINE_COMMUNICATION : TIMELINE_COMPUTATION,
		.process_id = process_id,
		.device_id = device_id,
	};
	struct timeline_key kernels = part;
	int error = 0;

	kernels.level = TIMELINE_KERNELS;
	if (communicates)
		error = begin_kernels(table, &kernels);
	if (!error)
		error = timeline_table_add(table, &part, start_ns, end_ns);
	if (error)
		return error;
	struct timeline_entry *entry = timeline_table_find(table, &kernels);
	return entry ? timeline_entry_add(entry, start_ns, end_ns) : 0;
}

struct timeline_entry *timeline_table_next(struct timeline_table *table, uint32_t process_id,
					   const struct timeline_entry *entry)
{
	const uint32_t id = entry ? entry->next : first_of_process(table, process_id);

	return id ? &table->entries[id - 1] : NULL;
}

bool timeline_table_has_pauses(const struct timeline_table *table)
{
	return table->nr_pauses > 0;
}

void timeline_table_expect(struct timeline_table *table, uint32_t process_id)
{
	const struct stream_timeline *timelines[TIMELINE_LEVELS];
	uint32_t id = first_of_process(table, process_id), count = 0;

	for (; id && count < TIMELINE_LEVELS; id = table->entries[id - 1].next) {
		const struct timeline_entry *entry = &table->entries[id - 1];

		table->last[entry->key.level % TIMELINE_LEVELS] = id;
		timelines[count++] = entry->timeline;
		stream_timeline_prefetch(entry->timeline);
	}
	for (uint32_t i = 0; i < count; i++)
		stream_timeline_prefetch_end(timelines[i]);
}

void timeline_table_close(struct timeline_table *table, uint32_t process_id)
{
	for (uint32_t id = first_of_process(table, process_id); id;) {
		struct timeline_entry *entry = &table->entries[id - 1];

		if (entry->key.level != TIMELINE_DEVICE &&
		    entry->key.level != TIMELINE_DEVICE_PAUSES) {
			stream_timeline_close(entry->timeline);
			entry->changed = true;
		}
		id = entry->next;
	}
}

const struct timeline_entry *timeline_table_entries(const struct timeline_table *table,
						    uint32_t *nr_entries)
{
	*nr_entries = table->nr_entries;
	return table->entries;
}

struct timeline_block timeline_table_block(const struct timeline_entry *entry)
{
	struct timeline_block block = {0};

	block.intervals = stream_timeline_unsaved(entry->timeline, &block.count, &block.clear);
	if (!block.clear && entry->nr_blocks == TIMELINE_BLOCKS_MAX) {
		block.clear = true;
		block.intervals = stream_timeline_open(entry->timeline, &block.count);
	}
	block.index = block.clear ? 0 : entry->nr_blocks;
	return block;
}

void timeline_table_saved(struct timeline_table *table)
{
	for (uint32_t i = 0; i < table->nr_entries; i++) {
		struct timeline_entry *entry = &table->entries[i];

		if (!entry->changed)
			continue;
		struct timeline_block block = timeline_table_block(entry);
		entry->nr_blocks = block.index + (block.count ? 1 : 0);
		entry->changed = false;
		stream_timeline_saved(entry->timeline);
	}
}

int timeline_table_load(struct timeline_table *table, const struct timeline_key *key,
			const struct timeline_block *block)
{
	struct timeline_entry *entry = timeline_table_get(table, key);

	if (!entry)
		return -ENOMEM;
	if (block->index != entry->nr_blocks || block->index >= TIMELINE_BLOCKS_MAX)
		return -EINVAL;
	entry->nr_blocks++;
	return stream_timeline_load(entry->timeline, block->intervals, block->count);
}
