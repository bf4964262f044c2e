/* What `run` leaves beside the store: gpu.folded and flame.html, made from it. Single-threaded. */
#ifndef OUTPUT_FILES_H
#define OUTPUT_FILES_H

#include <stddef.h>

#include "output_dir.h"

/* Writes both files and puts one line about the profile (kernels, GPU time, matched, lost by reason) into summary.
 * 0 or -errno, with one line in *error that says what and where, owns: free(). The store is kept in any case. */
int output_files_write(const struct output_dir *output, char *summary, size_t summary_size,
		       char **error);

#endif
