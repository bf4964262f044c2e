/* Exports profiles again and again, as long as they are written. Used by one thread. */
#ifndef EXPORT_FOLLOW_H
#define EXPORT_FOLLOW_H

#include <stdbool.h>

#include "export_target.h"

/* Looks at the store and at that of each job below jobs_path (NULL: there are none), every interval of the target, and
 * a last time when the standard input, a pipe, has ended. Each look is a process of its own, so a failure in it does
 * not end the next one. Failures are logged. */
void export_follow(const char *store_path, const char *jobs_path,
		   const struct export_target *target);

/* Exports these profiles once. Failures are logged. Returns whether all of them are delivered. skips_unchanged: as of
 * profile_export(). */
bool export_all(const char *store_path, const char *jobs_path, const struct export_target *target,
		bool skips_unchanged);

#endif
