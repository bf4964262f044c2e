/* Writes the files that `run` leaves beside the store. These are gpu.ns.folded, a similar file for each other plane
 * with records (sync.ns.folded; for memory memory.bytes.folded and leaks.bytes.folded), flame.html, which is made from
 * the same, and api.txt if API calls were counted. Single-threaded. */
#ifndef OUTPUT_FILES_H
#define OUTPUT_FILES_H

#include <stdbool.h>

#include "cli/base/output_dir.h"
#include "report/model/report_build.h"

/* Texts about the directory: two if nothing was recorded, the second if the directory was there before, and one about
 * an earlier profile. */
#define OUTPUT_EMPTY     "there is no profile of this run"
#define OUTPUT_AS_IT_WAS ", and %s is as it was"
#define OUTPUT_EARLIER   "the earlier profile is now %s"

/* Writes the files. *empty: nothing was recorded, so no profile should be kept. Then no process is in it, or there is
 * an earlier profile, which is worth more than one that has only reasons.
 *
 * *summary is the text for the user, which the caller owns (free()). It has a line with kernels, GPU time, matched,
 * lost by reason, and the page; a line for each other plane; and a few about memory. On a terminal a table of what took
 * longest comes first. For an empty profile it has the reason and OUTPUT_EMPTY. It is NULL if
 * notices are not shown (base/log.h), unless the profile is empty, incomplete or has losses.
 *
 * 0 or -errno. On error *summary is NULL, and *error is one line that says what failed and where, which the caller owns
 * (free()). The store is kept in any case. */
int output_files_write(const struct output_dir *output, const struct report_options *options,
		       bool *empty, char **summary, char **error);

/* Ends what a verb other than `run` does with a directory, into which it has put a store: writes the files, prints the
 * summary and closes the directory. If the verb failed (result is -errno), or the files cannot be written, everything
 * is as it was, after an error. So it is for an empty profile. error: the line about result, taken; NULL: strerror()
 * gives it. 0 or -errno. */
int output_files_finish(struct output_dir *output, int result, char *error);

#endif
