/* What `run` leaves beside the store: gpu.folded, a file like it for each other plane that has records (sync.folded; of
 * memory memory.folded and leaks.folded), flame.html, made from it, and api.txt if API calls were counted.
 * Single-threaded. */
#ifndef OUTPUT_FILES_H
#define OUTPUT_FILES_H

#include <stdbool.h>
#include <stddef.h>

#include "cli/base/output_dir.h"
#include "report/model/report_build.h"

/* What is said of the directory if nothing was recorded, and of an earlier profile. */
#define OUTPUT_EMPTY   "there is no profile of this run, and %s is as it was"
#define OUTPUT_EARLIER "the earlier profile is now %s"

/* Writes the files. *empty: nothing was recorded, so no profile is to be kept: no process is in it, or there is an
 * earlier profile, which is worth more than one that has only its reasons. *summary is what is to be said, owns:
 * free(): a line with kernels, GPU time, matched, lost by reason, where the files are; one for each other plane, and a
 * few about memory; of an empty one its reason and OUTPUT_EMPTY. It is NULL without memory. It is also NULL where
 * notices are not shown (base/log.h), but for a profile that is empty, incomplete or has losses. 0 or -errno, with one
 * line in *error that says what and where, owns: free(), and *summary NULL. The store is kept in any case. */
int output_files_write(const struct output_dir *output, const struct report_options *options,
		       bool *empty, char **summary, char **error);

#endif
