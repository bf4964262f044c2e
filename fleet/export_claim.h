/* Which profile a journal is of, and that no other journal brings the same work to ClickHouse: a profile, a copy of
 * it, or one that it was merged into. Used by one thread. */
#ifndef EXPORT_CLAIM_H
#define EXPORT_CLAIM_H

#include "export_journal.h"
#include "export_server.h"

/* Looks for the writers of the profile at read_path, and claims them for the journal's source, which a new journal
 * gets at random: *source. Asks the server nothing as long as they stay the same. destination: the server's name in
 * the journal. store_path: for messages.
 *
 * 0 or -errno with *error one line, which the caller owns (free()). -EEXIST: the server has work of a writer that
 * the journal does not know of, or another export has begun that may bring it; -EINVAL: the journal is another
 * profile's. */
int export_claim_make(struct export_server *server, struct export_journal *journal,
		      const char *store_path, const char *read_path, const char *destination,
		      char source[static EXPORT_JOURNAL_WORD_MAX], char **error);

#endif
