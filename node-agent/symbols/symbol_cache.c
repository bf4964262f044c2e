#include "symbol_cache.h"

#include <assert.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "symbol_table.h"

#include "base/checksum.h"
#include "node-agent/files/cache_directory.h"
#include "proto/batch/message.h"

#define MAGIC         0x316d797367666cull /* "lfgsym1" in memory */
#define VERSION       2u
#define SUFFIX        ".symbols"
#define NAME_SIZE     (2 * WIRE_BUILD_ID_MAX + 16 + sizeof(SUFFIX)) /* with the number of a user */
#define FILE_SIZE_MAX (1ull << 30)
#define OFF           "off"

/* A file consists of this header, the symbols and the names. Numbers have the machine's byte order. */
struct header {
	uint64_t magic;
	uint32_t version, build_id_size;
	uint8_t build_id[WIRE_BUILD_ID_MAX];
	uint32_t nr_symbols, names_size;
	uint32_t owner, reserved;
	uint64_t checksum; /* of the whole file, with 0 in place of this member */
};

static_assert(sizeof(struct header) == 72, "format of the symbol cache");

struct symbol_cache {
	struct cache_limits limits;
	char directory[];
};

char *symbol_cache_directory(const char *option)
{
	const char *home = getenv("HOME"), *cache = getenv("XDG_CACHE_HOME");
	char *path = NULL;
	int r;

	if (option && strcmp(option, OFF) == 0)
		return NULL;
	if (option)
		return strdup(option);
	if (cache && *cache == '/')
		r = asprintf(&path, "%s/flamegrid/symbols", cache);
	else if (home && *home == '/')
		r = asprintf(&path, "%s/.cache/flamegrid/symbols", home);
	else
		return NULL;
	return r < 0 ? NULL : path;
}

struct symbol_cache *symbol_cache_create(const char *directory, uint64_t max_bytes)
{
	size_t size = strlen(directory) + 1;
	struct symbol_cache *cache = malloc(sizeof(*cache) + size);

	if (!cache)
		return NULL;
	cache->limits = (struct cache_limits){max_bytes, SYMBOL_CACHE_FILES_MAX};
	memcpy(cache->directory, directory, size);
	return cache;
}

void symbol_cache_destroy(struct symbol_cache *cache)
{
	free(cache);
}

static uint64_t checksum_of(const struct header *header, const struct symbol_table_content *content)
{
	struct header zeroed = *header;

	zeroed.checksum = 0;
	uint64_t checksum = checksum_add(0, &zeroed, sizeof(zeroed));
	checksum = checksum_add(checksum, content->symbols,
				content->count * sizeof(*content->symbols));
	return checksum_add(checksum, content->names, content->names_size);
}

static bool file_name(char name[static NAME_SIZE], uid_t owner, const uint8_t *build_id,
		      uint32_t size)
{
	if (size == 0 || size > WIRE_BUILD_ID_MAX)
		return false;
	for (uint32_t i = 0; i < size; i++)
		snprintf(name + (size_t)2 * i, 3, "%02x", build_id[i]);
	snprintf(name + (size_t)2 * size, NAME_SIZE - (size_t)2 * size, "-%u" SUFFIX, owner);
	return true;
}

static bool is_believable(const struct header *header, size_t size, uid_t owner,
			  const uint8_t *build_id, uint32_t build_id_size)
{
	return header->magic == MAGIC && header->version == VERSION && header->owner == owner &&
	       header->build_id_size == build_id_size &&
	       memcmp(header->build_id, build_id, build_id_size) == 0 &&
	       size == sizeof(*header) +
			       (uint64_t)header->nr_symbols * sizeof(struct symbol_table_symbol) +
			       header->names_size;
}

/* Takes data, the whole file. The file was read, not mapped, since a mapping of a file on a network can raise SIGBUS.
 * The checksum touches every byte anyway. */
static int restore(char *data, size_t size, uid_t owner, const uint8_t *build_id,
		   uint32_t build_id_size, struct symbol_table **table)
{
	const struct header *header = (const struct header *)data;

	if (!is_believable(header, size, owner, build_id, build_id_size)) {
		free(data);
		return -EBADMSG;
	}
	size_t symbols_size = header->nr_symbols * sizeof(struct symbol_table_symbol);
	struct symbol_table_content content = {
		.symbols = (const struct symbol_table_symbol *)(data + sizeof(*header)),
		.names = data + sizeof(*header) + symbols_size,
		.count = header->nr_symbols,
		.names_size = header->names_size,
	};
	if (checksum_of(header, &content) != header->checksum) {
		free(data);
		return -EBADMSG;
	}
	return symbol_table_restore(&content, data, table);
}

int symbol_cache_load(struct symbol_cache *cache, uid_t owner, const uint8_t *build_id,
		      uint32_t build_id_size, struct symbol_table **table)
{
	char name[NAME_SIZE], *data;
	size_t size;

	*table = NULL;
	if (!file_name(name, owner, build_id, build_id_size))
		return -ENOENT;
	int directory = cache_directory_open(cache->directory);
	if (directory < 0)
		return directory;
	int r = cache_directory_read(directory, name, sizeof(struct header), FILE_SIZE_MAX, &data,
				     &size);
	if (r == 0)
		r = restore(data, size, owner, build_id, build_id_size, table);
	if (r == 0)
		cache_directory_use(directory, name);
	close(directory);
	return r;
}

int symbol_cache_store(struct symbol_cache *cache, uid_t owner, const uint8_t *build_id,
		       uint32_t build_id_size, const struct symbol_table *table)
{
	struct header header = {
		.magic = MAGIC, .version = VERSION, .build_id_size = build_id_size, .owner = owner};
	struct symbol_table_content content;
	char name[NAME_SIZE];

	if (!file_name(name, owner, build_id, build_id_size))
		return -EINVAL;
	symbol_table_content(table, &content);
	if (sizeof(header) + content.count * sizeof(*content.symbols) + content.names_size >
	    FILE_SIZE_MAX)
		return -EFBIG;
	memcpy(header.build_id, build_id, build_id_size);
	header.nr_symbols = content.count;
	header.names_size = content.names_size;
	header.checksum = checksum_of(&header, &content);
	const struct cache_part parts[] = {
		{&header, sizeof(header)},
		{content.symbols, content.count * sizeof(*content.symbols)},
		{content.names, content.names_size},
	};
	int r = cache_directory_make(cache->directory);
	if (r)
		return r;
	int directory = cache_directory_open(cache->directory);
	if (directory < 0)
		return directory;
	r = cache_directory_write(directory, name, parts, sizeof(parts) / sizeof(parts[0]));
	if (r == 0)
		cache_directory_trim(directory, SUFFIX, &cache->limits);
	close(directory);
	return r;
}
