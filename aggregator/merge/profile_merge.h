/* Makes one profile of several: of hosts, steps, jobs or windows. The result is exact and does not depend on the order
 * of the profiles: each writer (docs/store.md) counts once, as the profile has it that came furthest. A profile may
 * come twice, or in an older copy, or may itself be merged. */
#ifndef PROFILE_MERGE_H
#define PROFILE_MERGE_H

#include <stdint.h>

/* Writes the store merged_path, which must not exist, from the nr_paths stores of paths, which stay as they are. 0;
 * -EEXIST: merged_path exists; -EPROTO: a path is no profile, or is damaged; -EXDEV: two of them went on from copies of
 * one profile; -ESTALE: one of them grew while it was read; -ENOENT, -EACCES, -ENOSPC, -EIO, -ENOMEM, …. On error
 * there is no file, and *error is one line with the path, which the caller owns (free()). */
int profile_merge(const char *const *paths, uint32_t nr_paths, const char *merged_path,
		  char **error);

#endif
