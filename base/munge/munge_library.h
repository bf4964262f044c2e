/* The only door to libmunge, by which users of a site prove who they are. It is opened when it is needed, so that
 * programs need no munge where a site has none. Any thread. Calls wait for munged, which may take seconds. */
#ifndef MUNGE_LIBRARY_H
#define MUNGE_LIBRARY_H

#include <sys/types.h>

/* The errors of these functions: -ENOPKG: there is no libmunge; -EAGAIN: munged does not answer; -EACCES: munged does
 * not believe the credential: it is damaged, expired, was shown before, or is of another realm; -ENOMEM. *error is then
 * one line that says what is wrong and what to do, which the caller owns (free(); NULL: out of memory). */

/* Opens the library. It stays open. 0 or an error. */
int munge_library_open(char **error);

/* Makes a credential of this process's user over the text. *credential is the caller's (free()); on error it is
 * NULL. */
int munge_library_encode(const char *text, char **credential, char **error);

/* Reads a credential, which can be read once on each host: text is that of munge_library_encode(), uid its user.
 * *text is the caller's (free()); on error it is NULL. */
int munge_library_decode(const char *credential, char **text, uid_t *uid, char **error);

#endif
