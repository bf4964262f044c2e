/* The blocks that were read from an event log, so that a copy of one counts once. A block's head names it: it has
 * checksums of all that follows, and no two blocks have the same events. 24 bytes of memory a block. One thread. */
#ifndef BLOCK_MARKS_H
#define BLOCK_MARKS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/hash_index.h"

/* Embedded; zeroed memory has none. */
struct block_marks {
	uint64_t *names; /* owns */
	uint32_t nr_names, room;
	struct hash_index index; /* by name: its place + 1 */
};

void block_marks_fini(struct block_marks *marks);

/* name: the checksum of the block's head. */
bool block_marks_have(const struct block_marks *marks, uint64_t name);

/* Adds a name that is not there. 0 or -ENOMEM: unchanged. */
int block_marks_add(struct block_marks *marks, uint64_t name);

#endif
