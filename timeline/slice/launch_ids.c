#include "launch_ids.h"

#include <errno.h>
#include <stdlib.h>

#define IDS          (LAUNCH_IDS_WORDS * 64u) /* of a chunk */
#define CHUNKS_LEAST 16u

void launch_ids_fini(struct launch_ids *ids)
{
	free(ids->chunks);
	*ids = (struct launch_ids){0};
}

static bool is_free(const struct launch_ids_chunk *chunk)
{
	uint64_t bits = 0;

	for (uint32_t i = 0; i < LAUNCH_IDS_WORDS; i++)
		bits |= chunk->bits[i];
	return bits == 0;
}

static bool is_of(const struct launch_ids_chunk *chunk, uint16_t window, uint32_t first)
{
	return chunk->first == first && chunk->window == window;
}

/* Returns the place of the chunk, or the free one where it belongs. There is a free one. */
static uint32_t find(const struct launch_ids *ids, uint16_t window, uint32_t first)
{
	const uint32_t mask = ids->room_chunks - 1;
	uint32_t at = ((first ^ (uint32_t)window << 20) * 0x9e3779b1u >> 7) & mask;

	while (!is_free(&ids->chunks[at]) && !is_of(&ids->chunks[at], window, first))
		at = (at + 1) & mask;
	return at;
}

/* 0; -ENOSPC: there is no room; -ENOMEM. */
static int grow(struct launch_ids *ids, size_t *room_bytes)
{
	struct launch_ids grown = {.room_chunks =
					   ids->room_chunks ? 2 * ids->room_chunks : CHUNKS_LEAST,
				   .nr_chunks = ids->nr_chunks};
	const size_t bytes = (grown.room_chunks - ids->room_chunks) * sizeof(*grown.chunks);

	if (bytes > *room_bytes)
		return -ENOSPC;
	grown.chunks = calloc(grown.room_chunks, sizeof(*grown.chunks));
	if (!grown.chunks)
		return -ENOMEM;
	*room_bytes -= bytes;
	for (uint32_t i = 0; i < ids->room_chunks; i++) {
		const struct launch_ids_chunk *chunk = &ids->chunks[i];

		if (!is_free(chunk))
			grown.chunks[find(&grown, chunk->window, chunk->first)] = *chunk;
	}
	free(ids->chunks);
	*ids = grown;
	return 0;
}

/* Makes ids->last the id's chunk. */
static int make_chunk(struct launch_ids *ids, uint16_t window, uint32_t first, size_t *room_bytes)
{
	if (ids->nr_chunks + 1 > ids->room_chunks / 2) {
		const int error = grow(ids, room_bytes);

		if (error)
			return error;
	}
	ids->last = find(ids, window, first);
	if (is_free(&ids->chunks[ids->last])) {
		ids->chunks[ids->last].first = first;
		ids->chunks[ids->last].window = window;
		ids->nr_chunks++;
	}
	return 0;
}

int launch_ids_add(struct launch_ids *ids, uint16_t window, uint32_t correlation_id,
		   size_t *room_bytes)
{
	const uint32_t first = correlation_id / IDS, bit = correlation_id % IDS;

	if (ids->is_full)
		return 0;
	if (!ids->room_chunks || !is_of(&ids->chunks[ids->last], window, first)) {
		const int error = make_chunk(ids, window, first, room_bytes);

		ids->is_full = error == -ENOSPC;
		if (error)
			return ids->is_full ? 0 : error;
	}
	ids->chunks[ids->last].bits[bit / 64] |= UINT64_C(1) << bit % 64;
	return 0;
}

bool launch_ids_may_have(const struct launch_ids *ids, uint16_t window, uint32_t correlation_id)
{
	const uint32_t first = correlation_id / IDS, bit = correlation_id % IDS;

	if (ids->is_full || !ids->room_chunks)
		return ids->is_full;
	const struct launch_ids_chunk *chunk = &ids->chunks[find(ids, window, first)];
	return chunk->bits[bit / 64] >> bit % 64 & 1;
}
