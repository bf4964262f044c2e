/* Sums the single launches that a profile keeps by windows of a tenth of a second (kept_log.h). Part of run_work; used
 * by one thread. */
#ifndef RUN_WINDOWS_H
#define RUN_WINDOWS_H

#include <stdint.h>

#include "aggregator/core/fold_table.h"

struct profile;
struct run_work;

/* Returns the item of a kind of work. 0 or -errno. */
typedef int run_windows_item(void *context, const struct fold_key *key, uint32_t *item);

/* Adds the windows of all items, those of RUN_WORK_ALL, and the pace to the work. 0; -EPROTO, -EIO, -ENOMEM. */
int run_windows_read(const struct profile *profile, const char *store_path,
		     run_windows_item *find_item, void *context, struct run_work *work);

#endif
