/* Puts a node's profile beside the job's, as a part of it (report/profile/profile_parts.h): all of it if the job has no
 * aggregator at its end, and always the timeline. Any thread. */
#ifndef PROFILE_PART_H
#define PROFILE_PART_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

/* Returns whether the profile in the directory has an earlier state of this store, so that it is the same job's. */
bool profile_part_is_known(const char *store_path, const char *directory);

/* Copies the closed store at this path into the directory of the job's profile, in one sequential write. A log that
 * could not be brought into the store is in the copy. The file gets its name, which is new, once it is whole; part is
 * its path. 0 or -errno, and no file is left: -ENOENT: the directory is not there; -ENOSPC, -EACCES, …. */
int profile_part_add(const char *store_path, const char *directory, char part[static PATH_MAX]);

/* Copies the timeline of the closed store at this path into the directory of the job's profile. It is found there by
 * the store's id (timeline/log/event_place.h), wherever the store's rows come. The folder gets its name once it is
 * whole. *nr_events: how many events it has, also on error. 0, also if the store has no timeline; or -errno as above,
 * and no folder is left. */
int profile_part_add_timeline(const char *store_path, const char *directory, uint64_t *nr_events);

#endif
