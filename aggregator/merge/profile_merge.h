/* Makes one profile of several: of hosts, steps, jobs or windows. The result is exact and does not depend on the order
 * of the profiles: each writer (docs/store.md) counts once, as the profile has it that came furthest. A profile may
 * come twice, or in an older copy, or may itself be merged. */
#ifndef PROFILE_MERGE_H
#define PROFILE_MERGE_H

#include <stdbool.h>
#include <stdint.h>

struct database;

enum merge_part {
	MERGE_PART_NAMES, /* what store_loader_load_names() reads, epochs and meta */
	MERGE_PART_ROWS,  /* all but strings and stacks */
};

/* A profile to merge: the store at this path, or what open() opens. */
struct merge_source {
	const char *path; /* for messages, too; what open() opens may have any name */
	/* NULL, or opens a store of this version's schema, or a part of one; each profile is opened once for each part.
	 * 0 or -errno. On error *error, which the caller of profile_merge() owns, is one line with the name. */
	int (*open)(void *context, enum merge_part part, struct database **database, char **error);
	void *context;
};

/* Writes the store merged_path, which must not exist, from nr_sources profiles, which stay as they are. of_one_job:
 * they are parts of one profile. Then an empty one is left out, and each aggregator's number of nodes is that of the
 * whole job (store_life.h). Otherwise all totals become rows, which SQL finds, however many there are.
 * 0; -EEXIST: merged_path exists; -EPROTO: a path is no profile, or is damaged; -EXDEV: two of them went on from copies
 * of one profile; -ESTALE: one of them grew while it was read; -ENOENT, -EACCES, -ENOSPC, -EIO, -ENOMEM, …. On error
 * there is no file, and *error is one line with the path, which the caller owns (free()). */
int profile_merge(const struct merge_source *sources, uint32_t nr_sources, bool of_one_job,
		  const char *merged_path, char **error);

#endif
