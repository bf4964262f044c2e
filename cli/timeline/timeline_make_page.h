/* Writes the page of a part of a profile by time, for `timeline --format html`. Single-threaded. */
#ifndef TIMELINE_MAKE_PAGE_H
#define TIMELINE_MAKE_PAGE_H

#include "timeline/slice/profile_slice.h"

/* name: the profile, as the page's commands name it. output_path: a file, which is made or replaced; NULL: standard
 * output. The part itself is in a directory of its own (merged_dir.h) meanwhile. Says what it wrote, and what is
 * missing. Returns the exit status. */
int timeline_make_page(const struct profile_slice *slice, const char *name,
		       const char *output_path);

#endif
