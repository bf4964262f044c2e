/* Delivers what a profile has more than the server: one look at one profile. Used by one thread. */
#ifndef PROFILE_EXPORT_H
#define PROFILE_EXPORT_H

#include <stdbool.h>
#include <stdint.h>

struct export_server;

struct profile_export_result {
	uint64_t rows;    /* delivered */
	uint64_t waiting; /* known and not delivered; there may be more; 0: not known, or none */
};

/* Delivers every row once, whenever this process, its host or the server fails, and whatever a failed attempt left.
 * Pyroscope gets some twice if answers are lost (export_server.h). The profile may be written meanwhile. The server
 * is connected to if something is to be said; the caller closes it, also on error. skips_unchanged: a profile whose
 * files are as they were is not read.
 *
 * 0; -EIO: the server did not answer, so the next look goes on; -EBUSY: another process exports this profile;
 * -EBADMSG: the profile is damaged, or its sums fell, so nothing was taken back from the server; other -errno. On
 * error *error is one line, which the caller owns (free()). */
int profile_export(const char *store_path, struct export_server *server, bool skips_unchanged,
		   struct profile_export_result *result, char **error);

#endif
