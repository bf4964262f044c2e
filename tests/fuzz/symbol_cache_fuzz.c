/* Files of the symbol cache, as they are and with the checksum mended. What is loaded equals what is stored of it and
 * loaded again. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fuzz_file.h"
#include "node-agent/symbols/symbol_cache.h"
#include "node-agent/symbols/symbol_table.h"
#include "symbol_cache_id.h"

#define CHECKSUM_AT 64u
#define HEADER_SIZE 72u

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const uint8_t id[SYMBOL_CACHE_ID_SIZE] = SYMBOL_CACHE_ID, other_id[] = {1};

/* The file's checksum, which nobody finds by chance. */
static void mend(uint8_t *file, size_t size)
{
	uint64_t checksum = 0;

	memset(file + CHECKSUM_AT, 0, sizeof(checksum));
	for (size_t at = 0; at < size; at += sizeof(checksum)) {
		uint64_t word = 0;

		memcpy(&word, file + at, size - at < sizeof(word) ? size - at : sizeof(word));
		checksum = (checksum ^ word) * 0x9e3779b97f4a7c15ull;
		checksum ^= checksum >> 32;
	}
	memcpy(file + CHECKSUM_AT, &checksum, sizeof(checksum));
}

static void compare(const struct symbol_table *table, const struct symbol_table *again)
{
	struct symbol_table_content one, other;

	symbol_table_content(table, &one);
	symbol_table_content(again, &other);
	if (one.count != other.count || one.names_size != other.names_size ||
	    memcmp(one.symbols, other.symbols, one.count * sizeof(*one.symbols)) != 0 ||
	    memcmp(one.names, other.names, one.names_size) != 0)
		abort();
	for (uint32_t i = 0; i < one.count; i++) {
		const char *name = symbol_table_find(table, one.symbols[i].start);

		if (!name || strcmp(name, one.names + one.symbols[i].name) != 0)
			abort();
		symbol_table_find(table, one.symbols[i].end);
	}
}

static void load(struct symbol_cache *cache, const uint8_t *file, size_t size)
{
	struct symbol_table *table, *again;

	fuzz_file_write_named(SYMBOL_CACHE_ID_FILE, file, size);
	if (symbol_cache_load(cache, SYMBOL_CACHE_ID_OWNER, id, sizeof(id), &table) != 0)
		return;
	if (symbol_cache_store(cache, SYMBOL_CACHE_ROOT, other_id, sizeof(other_id), table) != 0 ||
	    symbol_cache_load(cache, SYMBOL_CACHE_ROOT, other_id, sizeof(other_id), &again) != 0)
		abort();
	compare(table, again);
	symbol_table_destroy(again);
	symbol_table_destroy(table);
}

static void remove_files(void)
{
	char path[128];

	snprintf(path, sizeof(path), "%s/" SYMBOL_CACHE_ID_FILE, fuzz_file_directory());
	unlink(path);
	snprintf(path, sizeof(path), "%s/01-0.symbols", fuzz_file_directory());
	unlink(path);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct symbol_cache *cache = symbol_cache_create(fuzz_file_directory(), SYMBOL_CACHE_SIZE_MAX);
	uint8_t *mended = malloc(size + 1);

	if (!cache || !mended)
		abort();
	load(cache, data, size);
	if (size >= HEADER_SIZE) {
		memcpy(mended, data, size);
		mend(mended, size);
		load(cache, mended, size);
	}
	remove_files();
	free(mended);
	symbol_cache_destroy(cache);
	return 0;
}
