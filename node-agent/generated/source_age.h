/* Tells whether the source files of a model were changed after Inductor had compiled it. The lines of the model may
 * then be others. PyTorch uses a graph of its cache again if only lines moved, with the lines of the first time. Only
 * foreign calls (foreign_call.h) use this module, since any file may be named. */
#ifndef SOURCE_AGE_H
#define SOURCE_AGE_H

#include <stdbool.h>
#include <sys/types.h>
#include <time.h>

#define SOURCE_AGE_FILES_MAX 64u /* files of a model that are looked at */

struct kernel_lines;

/* Returns whether a file that the lines name was changed after this time, or there are more than SOURCE_AGE_FILES_MAX
 * files. A file is looked for in the process's root (pid 0: ours), and counts only if the user owns it: nothing is told
 * of other users' files. */
bool source_age_is_newer(const struct kernel_lines *lines, pid_t pid, uid_t owner,
			 const struct timespec *time);

/* Returns whether the time comes after the other. */
bool source_age_is_later(const struct timespec *time, const struct timespec *other);

#endif
