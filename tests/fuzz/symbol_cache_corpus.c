/* Writes a small corpus for symbol_cache_fuzz: a file of the cache with functions in one another.
 *	symbol_cache_corpus DIRECTORY	(which exists, and is this user's alone) */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "node-agent/symbols/symbol_cache.h"
#include "node-agent/symbols/symbol_table.h"
#include "symbol_cache_id.h"

static const struct symbol_table_symbol symbols[] = {
	{0x1000, 0x2000, 0, SYMBOL_TABLE_NO_SYMBOL},
	{0x1100, 0x1200, 6, 0},
	{0x1180, 0x1190, 12, 1},
	{0x3000, 0x3001, 6, SYMBOL_TABLE_NO_SYMBOL},
};
static const char names[] = "outer\0inner\0_Z3leafv";

int main(int argc, char **argv)
{
	static const uint8_t id[SYMBOL_CACHE_ID_SIZE] = SYMBOL_CACHE_ID;
	struct symbol_cache *cache =
		argc == 2 ? symbol_cache_create(argv[1], SYMBOL_CACHE_SIZE_MAX) : NULL;
	char *memory = malloc(sizeof(symbols) + sizeof(names));
	struct symbol_table *table = NULL;
	int failed = 1;

	if (cache && memory && chmod(argv[1], 0700) == 0) {
		const struct symbol_table_content content = {
			.symbols = (const struct symbol_table_symbol *)(void *)memory,
			.names = memory + sizeof(symbols),
			.count = sizeof(symbols) / sizeof(*symbols),
			.names_size = sizeof(names),
		};

		memcpy(memory, symbols, sizeof(symbols));
		memcpy(memory + sizeof(symbols), names, sizeof(names));
		failed = symbol_table_restore(&content, memory, &table) != 0 ||
			 symbol_cache_store(cache, SYMBOL_CACHE_ID_OWNER, id, sizeof(id), table) != 0;
		memory = NULL;
	}
	if (failed)
		fprintf(stderr, "symbol_cache_corpus: give a directory that can be written to\n");
	free(memory);
	symbol_table_destroy(table);
	symbol_cache_destroy(cache);
	return failed;
}
