/* The files in which guests tell of their offers (proto/handshake.h), in SOCKET.offers. An offer may lie unread in the
 * queue of an agent that is killed. If its process dies, too, the file alone knows that the process ever ran.
 *
 * The files belong to jobs' users, who may put anything there: nothing is opened or followed. Where all users may
 * offer, SOCKET.offers is a link to a directory in /dev/shm, which they can fill anyhow: the socket's own file system
 * may be the system's (/run). Single-threaded: only the agent loop calls it. */
#ifndef GUEST_OFFERS_H
#define GUEST_OFFERS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "proto/handshake.h"

#define GUEST_OFFERS_SHARED "/dev/shm/flamegrid-offers." /* and six characters */

struct guest_offers;

/* Opens SOCKET.offers or makes it, of mode 0700, or 01733 if any_user: whoever may not list it cannot learn another
 * guest's name. What is in it stays. 0; -EPERM: what lies there is not ours, or another user could replace it;
 * -ENOTEMPTY: it was made for the other value of any_user, and has files; other -errno. On error *offers is NULL. */
int guest_offers_open(const char *socket_path, bool any_user, struct guest_offers **offers);

/* Removes the directory if it is empty. Accepts NULL, as all below do. */
void guest_offers_close(struct guest_offers *offers);

/* The guest of this user has its final answer, or has been told of: removes its file. */
void guest_offers_settle(struct guest_offers *offers, uid_t uid, const struct guest_hello *hello);

/* uid: who made the file, as the kernel knows; all else is that user's word. Borrowed for the call. Returns whether the
 * offer is known elsewhere from now on; else its file stays. */
typedef bool (*guest_offers_left)(void *context, uid_t uid, const struct guest_hello *hello);

/* No guest is answered any more: guest_offers_read() begins a new round, also with what was made since
 * guest_offers_open(). Such an offer's guest never reached us, for example because the socket's queue was full. */
void guest_offers_end(struct guest_offers *offers);

/* Looks at the next entries, `max` at most, that were made before guest_offers_open(). Calls back for offers, then
 * removes their files; removes what is no offer. Returns whether there may be more in this round. Each entry comes once
 * a round; the call after its end begins another round if files stayed. */
bool guest_offers_read(struct guest_offers *offers, uint32_t max, guest_offers_left left,
		       void *context);

#endif
