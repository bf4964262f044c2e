/* Chunks of hostile cubins: the first byte is their number, each has four bytes (which of four cubins, from where to where
 * in 255ths, and whether it contradicts), and the rest is the image of all. A cubin is finished when each of its bytes has
 * come, and not before; each is counted once. */
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "node-agent/cubin/cubin_cache.h"
#include "node-agent/cubin/cubin_table.h"

#define NR_CUBINS  4u
#define CHUNK_SIZE 4u
#define IMAGE_MAX  65536u
#define CRC(cubin) ((cubin)*0x123456789ull)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static uint8_t has[NR_CUBINS][IMAGE_MAX];

/* Returns whether the chunk was taken. */
static bool take_chunk(struct cubin_table *table, const uint8_t *chunk, const uint8_t *image,
		       uint32_t size)
{
	uint32_t cubin = chunk[0] % NR_CUBINS;
	uint32_t from = (uint32_t)((uint64_t)size * chunk[1] / 255);
	uint32_t to = (uint32_t)((uint64_t)size * chunk[2] / 255);
	uint32_t claimed = chunk[3] == 1 ? 0 : size;
	uint32_t nr_bytes = chunk[3] == 2 ? UINT32_MAX - from : to - from;
	bool is_valid = chunk[3] != 1 && chunk[3] != 2 && from < to;
	int error = cubin_table_chunk(table, CRC(cubin), claimed, from, image + from, nr_bytes);

	if (error != (is_valid ? 0 : -EINVAL))
		abort();
	if (is_valid)
		memset(has[cubin] + from, 1, to - from);
	return is_valid;
}

static void check(const struct cubin_table *table, uint32_t size)
{
	uint64_t nr_known = 0, nr_partial = 0;
	struct cubin_counts counts;

	for (uint32_t i = 0; i < NR_CUBINS; i++) {
		enum cubin_state state = cubin_table_state(table, CRC(i));
		bool is_begun = memchr(has[i], 1, size), is_whole = !memchr(has[i], 0, size);
		struct cubin_frame frames[CUBIN_FRAMES_MAX];
		size_t count =
			cubin_code_find(cubin_table_code(table, CRC(i), "kernel"), 64, frames);

		if ((state == CUBIN_UNKNOWN) == is_begun ||
		    (state == CUBIN_PARTIAL) != (is_begun && !is_whole) || state == CUBIN_REFUSED ||
		    (count && state != CUBIN_WITH_LINES))
			abort();
		nr_known += is_begun;
		nr_partial += state == CUBIN_PARTIAL;
	}
	cubin_table_count(table, &counts);
	if (counts.partial != nr_partial || counts.refused ||
	    counts.with_lines + counts.without_lines + counts.damaged + counts.partial != nr_known)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	size_t nr_chunks = size ? data[0] : 0, start = 1 + nr_chunks * CHUNK_SIZE;

	if (size <= start || size - start > IMAGE_MAX)
		return 0;
	struct cubin_cache *cache = cubin_cache_create(NULL);
	struct cubin_table *table = cubin_table_create(cache, 0);
	memset(has, 0, sizeof(has));
	for (size_t i = 0; i < nr_chunks; i++)
		if (take_chunk(table, data + 1 + i * CHUNK_SIZE, data + start,
			       (uint32_t)(size - start)))
			check(table, (uint32_t)(size - start));
	if (cubin_cache_count(cache) > 1) /* all have the same bytes */
		abort();
	cubin_table_destroy(table);
	if (cubin_cache_count(cache) > 0)
		abort();
	cubin_cache_destroy(cache);
	return 0;
}
