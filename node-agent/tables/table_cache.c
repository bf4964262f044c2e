#include "table_cache.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/checksum.h"
#include "node-agent/files/cache_directory.h"
#include "unwind/table_arena.h"

#define MAGIC     0x32647761677366ull /* "fsgawd2" in memory */
#define SUFFIX    ".unwind"
#define NAME_SIZE 48u /* sixteen digits of the tag, and the user's number */

/* What is loaded at most, so that there is room in the arena for tables of new files. */
#define LOAD_FILES_MAX (TABLE_ARENA_ENTRIES / 2)
#define LOAD_BYTES_MAX (TABLE_ARENA_BYTES / 2)

/* A file consists of this header and the packed rows, whose version is in the tag. Numbers have the machine's byte
 * order. */
struct header {
	uint64_t magic, user, tag;
	uint64_t checksum; /* of the whole file, with 0 in place of this member */
};

static_assert(sizeof(struct header) == 32, "format of the table cache");

struct wanted {
	uint64_t tag;
	struct table_arena_claim claim;
};

static void file_name(char name[static NAME_SIZE], uid_t user, uint64_t tag)
{
	snprintf(name, NAME_SIZE, "%016" PRIx64 "-%u" SUFFIX, tag, user);
}

/* Returns whether this is the name of a table of the user's. */
static bool read_name(const char *name, uid_t user, uint64_t *tag)
{
	char expected[NAME_SIZE];

	if (sscanf(name, "%16" SCNx64, tag) != 1 || *tag == 0)
		return false;
	file_name(expected, user, *tag);
	return strcmp(name, expected) == 0;
}

static uint64_t checksum_of(const struct header *header, const void *data, size_t size)
{
	struct header zeroed = *header;

	zeroed.checksum = 0;
	return checksum_add(checksum_add(0, &zeroed, sizeof(zeroed)), data, size);
}

/* ---- loading ----------------------------------------------------------------------------------- */

/* Claims tables of the listed files, from the first on. Returns their number. The caller owns *wanted: free(). */
static uint32_t claim(const struct cache_file *files, uint32_t nr_files, uid_t user,
		      const struct table_arena *arena, struct wanted **wanted)
{
	struct unwind_pack pack;
	uint64_t bytes = 0;
	uint32_t nr = 0;

	*wanted = calloc(LOAD_FILES_MAX, sizeof(**wanted));
	for (uint32_t i = 0; *wanted && i < nr_files && nr < LOAD_FILES_MAX; i++) {
		if (!read_name(files[i].name, user, &(*wanted)[nr].tag) ||
		    files[i].bytes > LOAD_BYTES_MAX - bytes ||
		    table_arena_find(arena, (*wanted)[nr].tag, &pack, &(*wanted)[nr].claim) !=
			    TABLE_ARENA_CLAIMED)
			continue;
		bytes += files[i].bytes;
		nr++;
	}
	return nr;
}

/* Enters a table of a file's content. Returns 0; -EBADMSG: the file is damaged; -ENOSPC: the arena has no room. */
static int enter(const char *data, size_t size, uid_t user, const struct table_arena *arena,
		 const struct wanted *wanted)
{
	const uint8_t *rows = (const uint8_t *)data + sizeof(struct header);
	struct unwind_pack pack, entered;
	struct header header;

	size -= sizeof(header);
	memcpy(&header, data, sizeof(header));
	if (header.magic != MAGIC || header.user != user || header.tag != wanted->tag ||
	    header.checksum != checksum_of(&header, rows, size))
		return -EBADMSG;
	if (!unwind_pack_open(rows, size, wanted->tag, &pack))
		return -EBADMSG;
	return table_arena_enter(arena, &wanted->claim, wanted->tag, &pack, &entered) ? 0 : -ENOSPC;
}

/* Returns whether the file's table lies in the arena now. */
static bool load(int directory, uid_t user, const struct table_arena *arena,
		 const struct wanted *wanted)
{
	char name[NAME_SIZE], *data;
	size_t size;

	file_name(name, user, wanted->tag);
	int r = cache_directory_read(directory, name, sizeof(struct header), TABLE_ARENA_BYTES,
				     &data, &size);
	if (r == 0) {
		r = enter(data, size, user, arena, wanted);
		free(data);
		if (r == -EBADMSG)
			cache_directory_delete(directory, name);
	}
	if (r)
		table_arena_give_up(&wanted->claim);
	return r == 0;
}

/* Deletes the user's files that are too short for tables. Returns the number of files that stay in the list. */
static uint32_t delete_short(int directory, uid_t user, struct cache_file *files, uint32_t nr)
{
	uint32_t nr_left = 0;
	uint64_t tag;

	for (uint32_t i = 0; i < nr; i++) {
		if (files[i].bytes < sizeof(struct header) && read_name(files[i].name, user, &tag))
			cache_directory_delete(directory, files[i].name);
		else
			files[nr_left++] = files[i];
	}
	return nr_left;
}

int table_cache_load(const char *directory, uid_t user, const struct table_arena *arena,
		     bool *is_saved, const struct cache_limits *limits)
{
	int fd = cache_directory_open(directory);
	struct cache_file *files;
	struct wanted *wanted;
	uint32_t nr_files;
	int nr_entered = 0;

	if (fd < 0)
		return fd;
	int r = cache_directory_list(fd, SUFFIX, &files, &nr_files);
	nr_files = delete_short(fd, user, files, nr_files);
	uint32_t nr = claim(files, nr_files, user, arena, &wanted);
	for (uint32_t i = 0; i < nr; i++) {
		if (!load(fd, user, arena, &wanted[i]))
			continue;
		is_saved[wanted[i].claim.entry - arena->index->entries] = true;
		nr_entered++;
	}
	free(wanted);
	free(files);
	cache_directory_trim(fd, SUFFIX, limits);
	close(fd);
	return r ? r : nr_entered;
}

/* ---- storing ----------------------------------------------------------------------------------- */

static int store_copy(int directory, uid_t user, uint64_t tag, const uint8_t *copy, uint32_t bytes)
{
	struct header header = {.magic = MAGIC, .user = user, .tag = tag};
	const struct cache_part parts[] = {{&header, sizeof(header)}, {copy, bytes}};
	struct unwind_pack pack;
	char name[NAME_SIZE];

	if (!unwind_pack_open(copy, bytes, tag, &pack))
		return -EBADMSG;
	header.checksum = checksum_of(&header, copy, bytes);
	file_name(name, user, tag);
	return cache_directory_write(directory, name, parts, 2);
}

static int store_table(int directory, uid_t user, uint64_t tag, const struct unwind_pack *pack)
{
	uint8_t *copy = malloc(pack->bytes);
	int r = -ENOMEM;

	if (copy) {
		memcpy(copy, pack->data, pack->bytes);
		r = store_copy(directory, user, tag, copy, pack->bytes);
	}
	free(copy);
	return r;
}

struct store {
	const char *directory;
	int fd;    /* -1: not open yet */
	int error; /* why it cannot be opened */
	uid_t user;
	int nr; /* files that were written */
};

static bool is_open(struct store *store)
{
	if (store->fd >= 0 || store->error)
		return !store->error;
	store->error = cache_directory_make(store->directory);
	if (store->error == 0)
		store->fd = cache_directory_open(store->directory);
	if (store->fd < 0 && store->error == 0)
		store->error = store->fd;
	return !store->error;
}

static void store_entry(struct store *store, const struct table_arena *arena, uint32_t i,
			bool *is_saved)
{
	bool was_found = table_arena_was_found(arena, i), is_new = !*is_saved;
	struct unwind_pack pack;
	char name[NAME_SIZE];
	uint64_t tag;

	if ((!is_new && !was_found) || !table_arena_entry(arena, i, &tag, &pack))
		return;
	*is_saved = true;
	if (!is_open(store))
		return;
	if (is_new && store_table(store->fd, store->user, tag, &pack) == 0)
		store->nr++;
	file_name(name, store->user, tag);
	if (!is_new)
		cache_directory_use(store->fd, name);
}

int table_cache_store(const char *directory, uid_t user, const struct table_arena *arena,
		      bool *is_saved, const struct cache_limits *limits)
{
	struct store store = {.directory = directory, .fd = -1, .user = user};

	for (uint32_t i = 0; i < TABLE_ARENA_ENTRIES; i++)
		store_entry(&store, arena, i, &is_saved[i]);
	if (store.nr)
		cache_directory_trim(store.fd, SUFFIX, limits);
	if (store.fd >= 0)
		close(store.fd);
	return store.error ? store.error : store.nr;
}
