/* A copy of one loaded file's .eh_frame, and a list of its frame description entries by address. The list is the
 * header's search table. Where that is missing or unreadable, the list is made from the entries. Memory comes from
 * mmap(), not malloc(). One thread at a time. */
#ifndef EH_FRAME_INDEX_H
#define EH_FRAME_INDEX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "frame_description.h"

struct eh_frame_entry {
	uint64_t address; /* of the function's first instruction; rises from entry to entry, and is not believed */
	size_t at;        /* where the entry's length lies in the copy */
};

struct eh_frame_index {
	struct frame_section section;   /* owns its bytes */
	struct eh_frame_entry *entries; /* owns */
	size_t entries_size;            /* bytes that are mapped */
	uint32_t nr;
};

struct eh_frame_header;

/* Returns 0; -ENOENT: there are no entries; -EINVAL: they make no sense; -EFAULT: they cannot be read; -ENOMEM. Call
 * eh_frame_index_fini() after an error, too. */
int eh_frame_index_init(struct eh_frame_index *index, const struct eh_frame_header *header);

/* Makes the list from the first size_max bytes of .eh_frame, without the search table. Reads only `image` and `frames`
 * of the header. Returns as above. */
int eh_frame_index_init_frames(struct eh_frame_index *index, const struct eh_frame_header *header,
			       uint64_t size_max);
void eh_frame_index_fini(struct eh_frame_index *index);

/* Finds the last entry that begins at or below `address`. false: there is none. */
bool eh_frame_index_find(const struct eh_frame_index *index, uint64_t address, uint32_t *i);

#endif
