/* A copy of one loaded file's .eh_frame and the list of its frame description entries by address:
 * the header's search table or, where there is none that this can read, made from the entries
 * themselves. mmap, not malloc. One thread at a time. */
#ifndef EH_FRAME_INDEX_H
#define EH_FRAME_INDEX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "frame_description.h"

struct eh_frame_entry {
	uint64_t address; /* of the function's first instruction; rising, not believed */
	size_t at;        /* where the entry's length lies in the copy */
};

struct eh_frame_index {
	struct frame_section section;   /* owns its bytes */
	struct eh_frame_entry *entries; /* owns */
	size_t entries_size;            /* bytes that are mapped */
	uint32_t nr;
};

struct eh_frame_header;

/* Returns 0; -ENOENT: no entries; -EINVAL: no sense; -EFAULT: cannot be read; -ENOMEM. On error
 * there is something for eh_frame_index_fini() all the same. */
int eh_frame_index_init(struct eh_frame_index *index, const struct eh_frame_header *header);

/* The same without the header's search table: from the first size_max bytes of .eh_frame. Of the header its image and
 * frames are enough. */
int eh_frame_index_init_frames(struct eh_frame_index *index, const struct eh_frame_header *header,
			       uint64_t size_max);
void eh_frame_index_fini(struct eh_frame_index *index);

/* The last entry that begins at or below address. */
bool eh_frame_index_find(const struct eh_frame_index *index, uint64_t address, uint32_t *i);

#endif
