/* What naming costs: reads the symbols of one file, names addresses spread over its functions, and
 * does the same from the cache on disk and, if the file has DWARF, with lines and inlined functions.
 * Takes a path; prints milliseconds; asserts nothing about time. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "node-agent/files/elf_file.h"
#include "node-agent/symbols/inline_frames.h"
#include "node-agent/symbols/symbol_cache.h"
#include "node-agent/symbols/symbol_table.h"

#define LOOK_UPS     10000u
#define DEFAULT_FILE "/usr/lib/x86_64-linux-gnu/libLLVM-14.so.1"

static double now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec * 1e3 + (double)now.tv_nsec * 1e-6;
}

/* Addresses in the middle of functions, in no order that helps. */
static void choose(const struct symbol_table *table, uint64_t addresses[LOOK_UPS])
{
	struct symbol_table_content content;
	uint32_t random = 1;

	symbol_table_content(table, &content);
	for (uint32_t i = 0; i < LOOK_UPS; i++) {
		random = random * 1664525u + 1013904223u;
		const struct symbol_table_symbol *symbol =
			&content.symbols[(random >> 4) % content.count];

		addresses[i] = symbol->start + (symbol->end - symbol->start) / 2;
	}
}

static uint32_t look_up(const struct symbol_table *table, const uint64_t addresses[LOOK_UPS])
{
	uint32_t found = 0;

	for (uint32_t i = 0; i < LOOK_UPS; i++)
		found += symbol_table_find(table, addresses[i]) != NULL;
	return found;
}

static void bench_cache(const struct symbol_table *table, const uint64_t addresses[LOOK_UPS])
{
	char directory[] = "/tmp/symbol_bench.XXXXXX", command[64];
	const uint8_t build_id[20] = {1};
	struct symbol_table *loaded;
	struct symbol_cache *cache =
		mkdtemp(directory) ? symbol_cache_create(directory, SYMBOL_CACHE_SIZE_MAX) : NULL;

	if (!cache)
		return;
	double begin = now_ms();
	int r = symbol_cache_store(cache, 0, build_id, sizeof(build_id), table);
	double stored = now_ms();
	if (r == 0)
		r = symbol_cache_load(cache, 0, build_id, sizeof(build_id), &loaded);
	double done = now_ms();
	if (r == 0) {
		printf("cache: store %.1f ms, load %.1f ms, %u names\n", stored - begin,
		       done - stored, look_up(loaded, addresses));
		symbol_table_destroy(loaded);
	}
	symbol_cache_destroy(cache);
	snprintf(command, sizeof(command), "rm -r %s", directory);
	if (system(command))
		perror(directory);
}

static void bench_inlines(struct elf_file *file, const struct symbol_table *table,
			  const uint64_t addresses[LOOK_UPS])
{
	struct inline_frames *frames;
	uint32_t described = 0, functions = 0;
	char text[16384];
	double begin = now_ms();

	if (inline_frames_create(file, NULL, NULL, &frames)) {
		printf("lines: no debug information here\n");
		return;
	}
	double opened = now_ms(), first = 0;
	for (int round = 0; round < 2; round++) {
		double start = now_ms();

		described = functions = 0;
		for (uint32_t i = 0; i < LOOK_UPS; i++) {
			const char *name = symbol_table_find(table, addresses[i]);

			if (inline_frames_describe(frames, addresses[i], name, text,
						   sizeof(text)) == 0)
				continue;
			described++;
			functions++;
			for (const char *at = strchr(text, '\n'); at; at = strchr(at + 1, '\n'))
				functions++;
		}
		if (round == 0)
			first = now_ms() - start;
		else
			printf("lines: open %.1f ms, %u addresses %.1f ms, again %.1f ms; %u with "
			       "lines, %u functions\n",
			       opened - begin, LOOK_UPS, first, now_ms() - start, described,
			       functions);
	}
	inline_frames_destroy(frames);
}

int main(int argc, char **argv)
{
	static uint64_t addresses[LOOK_UPS];
	const char *path = argc > 1 ? argv[1] : DEFAULT_FILE;
	struct symbol_table *table;
	struct elf_file *file;
	double begin = now_ms();

	if (elf_file_open(path, &file)) {
		fprintf(stderr, "usage: symbol_bench [FILE]: %s cannot be read\n", path);
		return 1;
	}
	if (symbol_table_create(&file, 1, &table)) {
		fprintf(stderr, "%s: no symbols\n", path);
		return 1;
	}
	double built = now_ms();
	choose(table, addresses);
	double chosen = now_ms();
	uint32_t found = look_up(table, addresses);
	double done = now_ms();
	printf("%s: %u functions, table %.1f ms, %u look-ups %.1f ms, %u named, together %.1f ms\n",
	       path, symbol_table_count(table), built - begin, LOOK_UPS, done - chosen, found,
	       built - begin + done - chosen);
	bench_cache(table, addresses);
	bench_inlines(file, table, addresses);
	symbol_table_destroy(table);
	elf_file_close(file);
	return 0;
}
