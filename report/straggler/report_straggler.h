/* Finds the ranks that are late in a job's collectives (straggler.h). Calls of all ranks are matched by communicator
 * (its key), function and the function's own number on the communicator, never by clocks. Each communicator is
 * looked at by itself.
 *   - Only all_reduce, all_gather, reduce_scatter and all_to_all hold each rank up until the last has come. So do sends
 *     and receives of three ranks or more, each of which exchanges data with each other one in one kernel.
 *     Collectives with a root do not show which rank was late. Sends and receives of pipelines show it all together
 *     (straggler_pipeline.h).
 *   - A collective counts if all ranks that the profile has of the communicator are in it. A rank's time in it is
 *     that of its kernel if the kernels of all ranks are known, and otherwise that of the host's call. Calls of a
 *     group have no host time of their own. If one kernel carries several of them, the first stands for all.
 * Used by one thread; immutable once made. */
#ifndef REPORT_STRAGGLER_H
#define REPORT_STRAGGLER_H

#include <stdint.h>

#include "report_straggler_result.h"

#include "aggregator/profile/collective_folds.h"
#include "report/profile/profile.h"

struct straggler_topology;

/* store_path names the profile's store, from which work is read that was kept with its time; NULL: no causes,
 * experts, pipelines and ranks that never came are looked for, and only the profile's catalog and roster are used.
 * topology: of a file; NULL: switches are known as Slurm told them, if it did. look: the job runs, and the folds are of
 * its newest collectives; NULL: they are of the whole run. It takes ownership of the folds, in which
 * all calls are folded, also on error. 0; -EPROTO: the folds name what the profile does not hold; other errors of
 * database.h; -ENOMEM. On error *straggler is NULL. */
int report_straggler_create(const struct profile *profile, const char *store_path,
			    const struct straggler_topology *topology,
			    struct collective_folds *folds, const struct straggler_look *look,
			    struct report_straggler **straggler);
void report_straggler_destroy(struct report_straggler *straggler); /* accepts NULL */

#endif
