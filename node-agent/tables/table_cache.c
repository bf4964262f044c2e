#include "table_cache.h"

#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/checksum.h"
#include "node-agent/files/cache_directory.h"
#include "unwind/table_arena.h"

#define MAGIC     0x31647761677366ull /* "fsgawd1" in memory */
#define SUFFIX    ".unwind"
#define NAME_SIZE 48u /* sixteen digits of the tag, and the user's number */

/* A file consists of this header and the packed rows. Numbers have the machine's byte order. */
struct header {
	uint64_t magic;
	uint32_t version, user;
	uint64_t tag;
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

/* Claims the user's tables that lie in the directory. Returns their number. The caller owns *wanted: free(). */
static uint32_t claim_all(int directory, uid_t user, const struct table_arena *arena,
			  struct wanted **wanted)
{
	int fd = openat(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *stream = fd < 0 ? NULL : fdopendir(fd);
	const struct dirent *entry;
	struct unwind_pack pack;
	uint32_t nr = 0;

	*wanted = calloc(TABLE_ARENA_ENTRIES, sizeof(**wanted));
	while (*wanted && stream && nr < TABLE_ARENA_ENTRIES && (entry = readdir(stream)))
		if (read_name(entry->d_name, user, &(*wanted)[nr].tag) &&
		    table_arena_find(arena, (*wanted)[nr].tag, &pack, &(*wanted)[nr].claim) ==
			    TABLE_ARENA_CLAIMED)
			nr++;
	if (stream)
		closedir(stream);
	else if (fd >= 0)
		close(fd);
	return nr;
}

/* Returns whether the file's table lies in the arena now. */
static bool load(int directory, uid_t user, const struct table_arena *arena,
		 const struct wanted *wanted)
{
	struct unwind_pack pack, entered;
	char name[NAME_SIZE], *data;
	struct header header;
	bool is_entered = false;
	size_t size;

	file_name(name, user, wanted->tag);
	if (cache_directory_read(directory, name, sizeof(header), TABLE_ARENA_BYTES, &data,
				 &size) == 0) {
		const uint8_t *rows = (const uint8_t *)data + sizeof(header);

		size -= sizeof(header);
		memcpy(&header, data, sizeof(header));
		is_entered = header.magic == MAGIC && header.version == UNWIND_PACK_VERSION &&
			     header.user == user && header.tag == wanted->tag &&
			     header.checksum == checksum_of(&header, rows, size) &&
			     unwind_pack_open(rows, size, wanted->tag, &pack) &&
			     table_arena_enter(arena, &wanted->claim, wanted->tag, &pack, &entered);
		if (is_entered)
			cache_directory_use(directory, name);
		free(data);
	}
	if (!is_entered)
		table_arena_give_up(&wanted->claim);
	return is_entered;
}

int table_cache_load(const char *directory, uid_t user, const struct table_arena *arena,
		     bool *is_saved)
{
	int fd = cache_directory_open(directory);
	struct wanted *wanted;
	int nr_entered = 0;

	if (fd < 0)
		return fd;
	uint32_t nr = claim_all(fd, user, arena, &wanted);
	for (uint32_t i = 0; i < nr; i++) {
		if (!load(fd, user, arena, &wanted[i]))
			continue;
		is_saved[wanted[i].claim.entry - arena->index->entries] = true;
		nr_entered++;
	}
	free(wanted);
	close(fd);
	return nr_entered;
}

/* ---- storing ----------------------------------------------------------------------------------- */

static int store_copy(int directory, uid_t user, uint64_t tag, const uint8_t *copy, uint32_t bytes)
{
	struct header header = {
		.magic = MAGIC, .version = UNWIND_PACK_VERSION, .user = user, .tag = tag};
	const struct cache_part parts[] = {{&header, sizeof(header)}, {copy, bytes}};
	struct unwind_pack pack;
	char name[NAME_SIZE];

	if (!unwind_pack_open(copy, bytes, tag, &pack))
		return -EBADMSG;
	header.checksum = checksum_of(&header, copy, bytes);
	file_name(name, user, tag);
	return cache_directory_write(directory, name, parts, 2);
}

static int store(int directory, uid_t user, uint64_t tag, const struct unwind_pack *pack)
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

int table_cache_store(const char *directory, uid_t user, const struct table_arena *arena,
		      bool *is_saved, uint64_t max_bytes)
{
	struct unwind_pack pack;
	int fd = -1, r = 0, nr = 0;
	uint64_t tag;

	for (uint32_t i = 0; i < TABLE_ARENA_ENTRIES; i++) {
		if (is_saved[i] || !table_arena_entry(arena, i, &tag, &pack))
			continue;
		is_saved[i] = true;
		if (fd < 0 && r == 0) {
			r = cache_directory_make(directory);
			fd = r ? r : cache_directory_open(directory);
			r = fd < 0 ? fd : 0;
		}
		if (r == 0 && store(fd, user, tag, &pack) == 0)
			nr++;
	}
	if (nr)
		cache_directory_trim(fd, SUFFIX, max_bytes);
	if (fd >= 0)
		close(fd);
	return r ? r : nr;
}
