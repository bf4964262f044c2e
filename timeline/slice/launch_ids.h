/* A set of what launches and their GPU work are joined by: window and correlation id. Ids of a program are dense, so a
 * bit for each is enough. Part of the slice; one thread. */
#ifndef LAUNCH_IDS_H
#define LAUNCH_IDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define LAUNCH_IDS_WORDS 8u

struct launch_ids_chunk {
	uint64_t bits[LAUNCH_IDS_WORDS]; /* all 0: the chunk is free */
	uint32_t first;                  /* its first id, by the number of ids of a chunk */
	uint16_t window;
};

/* Zeroed memory is an empty set. */
struct launch_ids {
	struct launch_ids_chunk *chunks; /* owns; a hash table */
	uint32_t nr_chunks, room_chunks; /* room: 0, or a power of two */
	uint32_t last;                   /* chunk, of which the next id mostly is */
	bool is_full;                    /* some ids found no room */
};

void launch_ids_fini(struct launch_ids *ids);

/* *room_bytes: what all that share it may take; it becomes less. Without room the set is full. 0 or -ENOMEM. */
int launch_ids_add(struct launch_ids *ids, uint16_t window, uint32_t correlation_id,
		   size_t *room_bytes);

/* Returns whether the id was added. A full set may have any. */
bool launch_ids_may_have(const struct launch_ids *ids, uint16_t window, uint32_t correlation_id);

#endif
