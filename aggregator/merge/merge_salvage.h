/* Stores that take the place of those that cannot be read, while several are merged. They lie beside the merged one.
 * Used by one thread. */
#ifndef MERGE_SALVAGE_H
#define MERGE_SALVAGE_H

#include <stdbool.h>
#include <stdint.h>

#include "merge_source.h"

struct merge_salvage {
	const char *merged_path; /* borrowed until fini */
	struct merge_salvaged {
		char *path; /* owns; NULL: none */
		bool is_tried;
	} * list; /* owns; for each source */
	uint32_t nr_sources, nr_taken;
};

/* 0 or -ENOMEM. Call fini in either case: it removes the stores. */
int merge_salvage_init(struct merge_salvage *salvage, const char *merged_path, uint32_t nr_sources);
void merge_salvage_fini(struct merge_salvage *salvage);

/* Makes a store in place of a source that could not be read for this error. Of a damaged one (-EPROTO) that is what is
 * whole of it, and the source then says what is lost. Of one whose log needs a file beside it (-EACCES, -EIO, -ENOSPC)
 * it is a copy. 0, or the error: there is none. */
int merge_salvage_take(struct merge_salvage *salvage, uint32_t number, struct merge_source *source,
		       int error);

/* Returns the path of the store to read. */
const char *merge_salvage_path(const struct merge_salvage *salvage, uint32_t number,
			       const struct merge_source *source);

#endif
