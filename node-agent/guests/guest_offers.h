/* Reads the files in which guests leave word of their offers (proto/handshake.h), in SOCKET.offers. When an agent is
 * killed, an offer may lie unread in its queue. If the offering process dies, too, only this file tells that the
 * process ever ran.
 *
 * The files belong to the jobs' users, who may put anything there: no file is opened, and no link followed. If all
 * users may offer, SOCKET.offers is a link to a directory in /dev/shm. Users can fill /dev/shm anyhow, whereas the
 * socket's own file system may be the system's (/run). Single-threaded: only the agent loop calls it. */
#ifndef GUEST_OFFERS_H
#define GUEST_OFFERS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "proto/handshake.h"

#define GUEST_OFFERS_SHARED "/dev/shm/flamegrid-offers." /* and six characters */

struct guest_offers;

/* Opens SOCKET.offers or makes it, with mode 0700, or 01733 if any_user. A user who may not list the directory cannot
 * learn another guest's name. Files in it stay. 0; -EPERM: the path is not ours, or another user could replace it;
 * -ENOTEMPTY: the directory was made for the other value of any_user, and has files; other -errno. On error *offers is
 * NULL. */
int guest_offers_open(const char *socket_path, bool any_user, struct guest_offers **offers);

/* Closes the directory, and removes it if it is empty. Accepts NULL, as do all functions below. */
void guest_offers_close(struct guest_offers *offers);

/* Removes the file of this user's guest, because the guest has its final answer or was reported. */
void guest_offers_settle(struct guest_offers *offers, uid_t uid, const struct guest_hello *hello);

/* Reports an offer. The kernel vouches for uid, the file's owner; all else is that user's word. Borrowed for the call.
 * Returns whether the offer is recorded elsewhere from now on; if not, its file stays. */
typedef bool (*guest_offers_left)(void *context, uid_t uid, const struct guest_hello *hello);

/* Says that no guest is answered any more. guest_offers_read() begins a new round, which includes files made since
 * guest_offers_open(). The guests of these never reached us, for example because the socket's queue was full. */
void guest_offers_end(struct guest_offers *offers);

/* Reads the next entries, `max` at most, that were made before guest_offers_open(). For an offer it calls back, and
 * then removes the file unless the callback returned false. It removes entries that are no offers. Returns whether this
 * round may have more. Each entry comes once a round; the call after a round's end begins another round if files
 * stayed. */
bool guest_offers_read(struct guest_offers *offers, uint32_t max, guest_offers_left left,
		       void *context);

#endif
