/* What `run` leaves beside the store: gpu.folded, a file like it for each other plane that has records (sync.folded),
 * flame.html, made from it, and api.txt if API calls were counted. Single-threaded. */
#ifndef OUTPUT_FILES_H
#define OUTPUT_FILES_H

#include <stddef.h>

#include "aggregator/report_build.h"
#include "output_dir.h"

/* Writes the files; *summary is then what is to be said about the profile, owns: free(): a line with kernels, GPU time,
 * matched, lost by reason, where the files are; and one for each other plane.
 * 0 or -errno, with one line in *error that says what and where, owns: free(), and *summary NULL. The store is kept in
 * any case. */
int output_files_write(const struct output_dir *output, const struct report_options *options,
		       char **summary, char **error);

#endif
