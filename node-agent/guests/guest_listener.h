/* Accepts guests: it owns the Unix socket, does the handshake and receives the descriptor. A peer that sends nothing,
 * or nonsense, never holds up the loop; it is disconnected after a while.
 *
 * A descriptor that is not of memory is closed by another thread (descriptor_closer.h). A user with too many waiting
 * descriptors is not listened to. While no more descriptors have room, no peer is accepted. Accepted guests go on.
 * Single-threaded: only the agent loop calls it. */
#ifndef GUEST_LISTENER_H
#define GUEST_LISTENER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "proto/handshake.h"

/* peers in their handshake at one time; one more disconnects the oldest */
#define GUEST_LISTENER_PEERS_MAX  64u
#define GUEST_LISTENER_TIMEOUT_NS 2000000000ull
#define GUEST_LISTENER_FDS_MIN    512u /* RLIMIT_NOFILE that any_user needs */

struct event_loop;
struct guest_listener;
struct record_ring;

/* A guest with a ring. The kernel vouches for pid and uid. pid 0: not visible from here. */
struct guest_arrival {
	pid_t pid;
	uid_t uid;
	const struct guest_hello *hello; /* borrowed for the call */
	/* the callback takes it; NULL: there is no descriptor or no memory for it at present */
	struct record_ring *ring;
};

/* Decides whether the guest is accepted. *window becomes the number of its first capture window. */
typedef enum handshake_status (*guest_listener_arrival)(void *context,
							const struct guest_arrival *arrival,
							uint32_t *window);

/* Binds path with mode 0600 and listens. With any_user the mode is 0666, and RLIMIT_NOFILE below GUEST_LISTENER_FDS_MIN
 * is -EMFILE. The loop and the context are borrowed until guest_listener_destroy() (accepts NULL), which removes the
 * path. 0 or -errno. On error *listener is NULL, and *error (if error is not NULL) is one line, which the caller owns
 * (free()). */
int guest_listener_create(struct event_loop *loop, const char *path, bool any_user,
			  guest_listener_arrival arrival, void *context,
			  struct guest_listener **listener, char **error);
void guest_listener_destroy(struct guest_listener *listener);

/* Answers a peer's request (control.h). Returns the reply of *size bytes, borrowed for the call. */
struct control_request;
typedef const void *(*guest_listener_control)(void *context, uid_t uid,
					      const struct control_request *request, size_t *size);

/* Sets the callback that answers requests; the context is guest_listener_create()'s. Without a callback, requests are
 * refused. */
void guest_listener_on_control(struct guest_listener *listener, guest_listener_control control);

/* Reports a process of this user that has no ring, and its reason. Borrowed for the call. */
typedef void (*guest_listener_absence)(void *context, pid_t pid, uid_t uid,
				       const struct guest_absence *absence);

/* Sets the callback for guests without a ring; the context is guest_listener_create()'s. */
void guest_listener_on_absence(struct guest_listener *listener, guest_listener_absence absence);

/* Reports that a hello of this user is about to get a final answer: any but HANDSHAKE_REFUSED_FULL. Borrowed for the
 * call. */
typedef void (*guest_listener_settled)(void *context, uid_t uid, const struct guest_hello *hello);

/* Sets the callback for final answers; the context is guest_listener_create()'s. */
void guest_listener_on_settled(struct guest_listener *listener, guest_listener_settled settled);

/* Returns a descriptor that guests of this user get with their welcome, borrowed for the call; -1: none. */
typedef int (*guest_listener_tables)(void *context, uid_t uid);

/* Sets the callback for the memory of unwind tables; the context is guest_listener_create()'s. */
void guest_listener_on_tables(struct guest_listener *listener, guest_listener_tables tables);

/* Accepts guests of this user, too, and lets all users connect. 0 or -errno. */
int guest_listener_allow(struct guest_listener *listener, uid_t uid);

/* Asks guests from now on to keep their rings for the next agent. */
void guest_listener_keep_rings(struct guest_listener *listener);

/* Accepts all peers that have connected so far, and handles the requests that they have already sent. The agent calls
 * it before its end. It waits for no peer. */
void guest_listener_take_all(struct guest_listener *listener);

/* Disconnects peers whose time is up. Returns when to call again; UINT64_MAX: no peer is in its handshake. */
uint64_t guest_listener_step(struct guest_listener *listener, uint64_t now_ns);

/* Returns the number of peers that were refused or disconnected so far. */
uint64_t guest_listener_refused(const struct guest_listener *listener);

#endif
