#include "page_set.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "page_file.h"
#include "page_list.h"
#include "page_round.h"
#include "page_snapshot.h"

#include "base/array.h"
#include "base/hash_index.h"

struct page_writer {
	uint8_t writer[WIRE_EPOCH_SIZE];
	uint64_t round;           /* the newest complete one; 0: none */
	struct page_list *list;   /* of that round; owns; NULL: none */
	struct page_round coming; /* the next round */
	bool anew;                /* the next round replaces all pages, and may have any number */
	bool ended;
	uint32_t nr_lost; /* pages of the round that were damaged in the file */
};

struct page_set {
	struct page_writer *writers; /* owns */
	uint32_t nr_writers, room_writers;
	struct hash_index index; /* of writers; position + 1 */
	uint64_t bytes;
	uint32_t nr_lost; /* writers that the file lacks */
	bool changed;
	bool has_snapshot;
	void **retired; /* owns, with the memory that they point to: the snapshot may still read it */
	uint32_t nr_retired, room_retired;
};

struct page_set *page_set_create(void)
{
	return calloc(1, sizeof(struct page_set));
}

static void free_retired(struct page_set *set)
{
	for (uint32_t i = 0; i < set->nr_retired; i++)
		free(set->retired[i]);
	free(set->retired);
	set->retired = NULL;
	set->nr_retired = set->room_retired = 0;
}

void page_set_destroy(struct page_set *set)
{
	if (!set)
		return;
	for (uint32_t i = 0; i < set->nr_writers; i++) {
		page_list_destroy(set->writers[i].list);
		page_round_fini(&set->writers[i].coming);
	}
	free_retired(set);
	hash_index_fini(&set->index);
	free(set->writers);
	free(set);
}

/* ---- writers */

static bool has_name(const void *context, uint32_t position, const void *name)
{
	const struct page_set *set = context;

	return memcmp(set->writers[position - 1].writer, name, WIRE_EPOCH_SIZE) == 0;
}

/* NULL: the writer is not known. Borrowed until the next writer is added. */
static struct page_writer *find(const struct page_set *set, const uint8_t name[WIRE_EPOCH_SIZE])
{
	uint32_t position = hash_index_find(&set->index, hash_index_hash(name, WIRE_EPOCH_SIZE),
					    has_name, set, name);

	return position ? &set->writers[position - 1] : NULL;
}

/* NULL: out of memory. */
static struct page_writer *add(struct page_set *set, const uint8_t name[WIRE_EPOCH_SIZE])
{
	if (array_reserve(&set->writers, &set->room_writers, (uint64_t)set->nr_writers + 1,
			  sizeof(*set->writers)) ||
	    hash_index_insert(&set->index, hash_index_hash(name, WIRE_EPOCH_SIZE),
			      set->nr_writers + 1))
		return NULL;
	struct page_writer *writer = &set->writers[set->nr_writers++];
	*writer = (struct page_writer){0};
	memcpy(writer->writer, name, WIRE_EPOCH_SIZE);
	return writer;
}

static void remove_last(struct page_set *set)
{
	struct page_writer *writer = &set->writers[--set->nr_writers];

	page_round_fini(&writer->coming);
	hash_index_replace(&set->index, hash_index_hash(writer->writer, WIRE_EPOCH_SIZE),
			   set->nr_writers + 1, 0);
}

static uint64_t held_bytes(const struct page_writer *writer)
{
	return (writer->list ? writer->list->bytes : 0) + writer->coming.bytes;
}

/* ---- rounds */

void page_set_begin(struct page_set *set, const uint8_t name[WIRE_EPOCH_SIZE])
{
	struct page_writer *writer = find(set, name);

	if (!writer)
		return;
	set->bytes -= writer->coming.bytes;
	page_round_fini(&writer->coming);
	writer->anew = true;
	writer->ended = false;
}

/* A retired page or list stays as long as there is a snapshot. The array of them has room. */
static void retire(struct page_set *set, void *memory)
{
	if (set->has_snapshot)
		set->retired[set->nr_retired++] = memory;
	else
		free(memory);
}

/* Puts the list, which has all pages of the round, in place of the old one. 0 or -ENOMEM: nothing has changed. */
static int complete(struct page_set *set, struct page_writer *writer, struct page_list *list)
{
	struct page_list *old = writer->list;

	if (old && set->has_snapshot &&
	    array_reserve(&set->retired, &set->room_retired,
			  (uint64_t)set->nr_retired + old->count + 1, sizeof(*set->retired)))
		return -ENOMEM;
	for (uint32_t i = 0, j = 0; old && i < old->count; i++) {
		const struct profile_page *page = &old->pages[i];

		while (j < list->count &&
		       page_list_precedes(&list->pages[j], page->table, page->number))
			j++;
		if (j == list->count || list->pages[j].bytes != page->bytes)
			retire(set, (void *)page->bytes);
	}
	if (old)
		retire(set, old);
	writer->list = list;
	writer->nr_lost = 0;
	writer->anew = false;
	set->changed = true;
	return 0;
}

/* Adds the message to a round that is coming. If it is the last one, *list is that of all pages. */
static int advance(struct page_round *round, const struct page_list *before,
		   const struct message_pages *message, struct page_list **list,
		   const char **reason)
{
	uint32_t count = round->count, filled = round->filled;
	int error = page_round_add(round, message, reason);

	if (error || message->nr_tables == 0)
		return error;
	error = page_round_finish(round, before, message, list, reason);
	if (error)
		page_round_cut(round, count, filled);
	return error;
}

static int take(struct page_set *set, struct page_writer *writer,
		const struct message_pages *message, const char **reason)
{
	struct page_round begun = {.round = message->round};
	bool begins = message->round != writer->coming.round;
	struct page_round *round = begins ? &begun : &writer->coming;
	struct page_list *list = NULL;

	if (begins && !writer->anew && message->round <= writer->round) {
		*reason = "a round that is over";
		return -EPROTO;
	}
	int error = advance(round, writer->anew ? NULL : writer->list, message, &list, reason);
	if (!error && list && (error = complete(set, writer, list)) != 0)
		free(list);
	if (error) {
		page_round_fini(&begun);
		return error;
	}
	if (begins) {
		page_round_fini(&writer->coming);
		writer->coming = begun;
	}
	if (list) {
		writer->round = message->round;
		writer->coming.count = 0; /* its pages are the list's now */
		writer->coming.bytes = 0;
		page_round_fini(&writer->coming);
	}
	return 0;
}

int page_set_take(struct page_set *set, const struct message_pages *message, const char **reason)
{
	struct page_writer *writer = find(set, message->writer);
	bool is_new = !writer;

	if (is_new && set->nr_writers == PAGE_SET_WRITERS_MAX) {
		*reason = "too many writers";
		return -EPROTO;
	}
	if (is_new)
		writer = add(set, message->writer);
	if (!writer)
		return -ENOMEM;
	set->bytes -= held_bytes(writer);
	int error = take(set, writer, message, reason);
	set->bytes += held_bytes(writer);
	if (error && is_new)
		remove_last(set);
	return error;
}

void page_set_end(struct page_set *set, const uint8_t name[WIRE_EPOCH_SIZE])
{
	struct page_writer *writer = find(set, name);

	if (writer)
		writer->ended = set->changed = true;
}

/* ---- reading */

uint32_t page_set_writers(const struct page_set *set)
{
	return set->nr_writers;
}

uint64_t page_set_round(const struct page_set *set, uint32_t writer)
{
	return set->writers[writer].round;
}

const uint8_t *page_set_writer(const struct page_set *set, uint32_t writer)
{
	return set->writers[writer].writer;
}

bool page_set_ended(const struct page_set *set, uint32_t writer)
{
	return set->writers[writer].ended;
}

uint32_t page_set_lost_pages(const struct page_set *set, uint32_t writer)
{
	return set->writers[writer].nr_lost;
}

uint32_t page_set_pages(const struct page_set *set, uint32_t writer)
{
	const struct page_list *list = set->writers[writer].list;

	return list ? list->count : 0;
}

uint32_t page_set_lost_writers(const struct page_set *set)
{
	return set->nr_lost;
}

int page_set_read(const struct page_set *set, uint32_t writer,
		  int (*take_page)(void *context, const struct profile_page *page), void *context)
{
	const struct page_list *list = set->writers[writer].list;
	int error = 0;

	for (uint32_t i = 0; list && i < list->count && !error; i++)
		error = take_page(context, &list->pages[i]);
	return error;
}

uint64_t page_set_bytes(const struct page_set *set)
{
	return set->bytes;
}

bool page_set_changed(const struct page_set *set)
{
	return set->changed;
}

/* ---- the file */

struct page_snapshot *page_set_snapshot(struct page_set *set)
{
	struct page_snapshot *snapshot =
		malloc(sizeof(*snapshot) + set->nr_writers * sizeof(*snapshot->writers));

	assert(!set->has_snapshot);
	if (!snapshot)
		return NULL;
	snapshot->count = 0;
	snapshot->nr_lost = set->nr_lost;
	for (uint32_t i = 0; i < set->nr_writers; i++) {
		const struct page_writer *writer = &set->writers[i];
		struct page_snapshot_writer *copy = &snapshot->writers[snapshot->count];

		if (!writer->list)
			continue;
		*copy = (struct page_snapshot_writer){
			.round = writer->round,
			.ended = writer->ended,
			.nr_lost = writer->nr_lost,
			.list = writer->list,
		};
		memcpy(copy->writer, writer->writer, WIRE_EPOCH_SIZE);
		snapshot->count++;
	}
	set->has_snapshot = true;
	set->changed = false;
	return snapshot;
}

void page_set_release(struct page_set *set, struct page_snapshot *snapshot, bool saved)
{
	free(snapshot);
	free_retired(set);
	set->has_snapshot = false;
	set->changed |= !saved;
}

int page_set_save(struct page_set *set, const char *path)
{
	struct page_snapshot *snapshot = page_set_snapshot(set);

	if (!snapshot)
		return -ENOMEM;
	int error = page_file_write(snapshot, path);
	page_set_release(set, snapshot, !error);
	return error;
}

/* Takes the lists of the snapshot. */
static int restore(struct page_set *set, struct page_snapshot *snapshot)
{
	set->nr_lost = snapshot->nr_lost;
	for (uint32_t i = 0; i < snapshot->count; i++) {
		struct page_snapshot_writer *copy = &snapshot->writers[i];

		if (i == PAGE_SET_WRITERS_MAX || find(set, copy->writer))
			return -EPROTO;
		struct page_writer *writer = add(set, copy->writer);
		if (!writer)
			return -ENOMEM;
		writer->round = copy->round;
		writer->ended = copy->ended;
		writer->nr_lost = copy->nr_lost;
		writer->list = copy->list;
		writer->anew = true; /* its epoch is not known any more */
		set->bytes += held_bytes(writer);
		copy->list = NULL;
	}
	return 0;
}

int page_set_load(const char *path, struct page_set **set)
{
	struct page_snapshot *snapshot;
	int error = page_file_read(path, &snapshot);

	*set = NULL;
	if (error)
		return error;
	*set = page_set_create();
	error = *set ? restore(*set, snapshot) : -ENOMEM;
	page_file_free(snapshot);
	if (error) {
		page_set_destroy(*set);
		*set = NULL;
	}
	return error;
}
