/* What `run` leaves beside the store: gpu.folded, a file like it for each other plane that has records (sync.folded; of
 * memory memory.folded and leaks.folded), flame.html, made from it, and api.txt if API calls were counted.
 * Single-threaded. */
#ifndef OUTPUT_FILES_H
#define OUTPUT_FILES_H

#include <stdbool.h>
#include <stddef.h>

#include "aggregator/report_build.h"
#include "output_dir.h"

/* What is said of the directory if nothing was recorded, and of an earlier profile. */
#define OUTPUT_EMPTY   "there is no profile of this run, and %s is as it was"
#define OUTPUT_EARLIER "the earlier profile is now %s"

/* Writes the files. *empty: no process is in the store, as far as it could be read. *summary is what to say of the
 * profile, which the caller owns (free()): a line with kernels, GPU time, matched, lost by reason and where the files
 * are, one line for each other plane, and a few about memory. 0 or -errno, with *summary NULL, and in *error one line
 * that says what and where, which the caller owns. The store itself is not touched. */
int output_files_write(const struct output_dir *output, const struct report_options *options,
		       bool *empty, char **summary, char **error);

#endif
