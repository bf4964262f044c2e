/* Where guests come in: the Unix socket, the handshake, the descriptor. A peer that says nothing, or nonsense, never
 * holds up the loop and is shown out after a while. Descriptors that are no memory are closed by other threads
 * (descriptor_closer.h). A user who has too many there is not listened to; while there is no room at all, nobody is
 * let in. Guests that are in go on. Single-threaded: only the agent loop calls it. */
#ifndef GUEST_LISTENER_H
#define GUEST_LISTENER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "proto/handshake.h"

#define GUEST_LISTENER_PEERS_MAX                                                                   \
	64u /* in their handshake at the same time; one more shows out the oldest */
#define GUEST_LISTENER_TIMEOUT_NS 2000000000ull
#define GUEST_LISTENER_FDS_MIN    512u /* RLIMIT_NOFILE that any_user needs */

struct event_loop;
struct guest_listener;
struct record_ring;

/* A guest whose ring could be mapped. pid and uid are the kernel's word; pid 0: not visible from
 * here. */
struct guest_arrival {
	pid_t pid;
	uid_t uid;
	const struct guest_hello *hello; /* borrowed for the call */
	struct record_ring *ring;        /* taken */
};

/* Says whether the guest is taken in; *window becomes the number of its first capture window. */
typedef enum handshake_status (*guest_listener_arrival)(void *context,
							const struct guest_arrival *arrival,
							uint32_t *window);

/* Binds path with mode 0600 (any_user: 0666, and -EMFILE below GUEST_LISTENER_FDS_MIN) and listens. The loop and the
 * context are borrowed until guest_listener_destroy() (accepts NULL), which removes the path. 0 or -errno; *error
 * (if error is not NULL) is then one line, owns: free(). On error *listener is NULL. */
int guest_listener_create(struct event_loop *loop, const char *path, bool any_user,
			  guest_listener_arrival arrival, void *context,
			  struct guest_listener **listener, char **error);
void guest_listener_destroy(struct guest_listener *listener);

/* A peer asks for something (control.h). Returns the reply, *size bytes, borrowed for the call. */
struct control_request;
typedef const void *(*guest_listener_control)(void *context, uid_t uid,
					      const struct control_request *request, size_t *size);

/* From now on answers requests by this callback; the context is guest_listener_create()'s. Until then they are
 * refused. */
void guest_listener_on_control(struct guest_listener *listener, guest_listener_control control);

/* A process of this user has no ring, and says why. Borrowed for the call. */
typedef void (*guest_listener_absence)(void *context, pid_t pid, uid_t uid,
				       const struct guest_absence *absence);

/* Sets the callback for guests without a ring; the context is guest_listener_create()'s. */
void guest_listener_on_absence(struct guest_listener *listener, guest_listener_absence absence);

/* A hello of this user is about to get an answer that is final: any but HANDSHAKE_REFUSED_FULL. Borrowed for the
 * call. */
typedef void (*guest_listener_settled)(void *context, uid_t uid, const struct guest_hello *hello);

/* Sets the callback for final answers; the context is guest_listener_create()'s. */
void guest_listener_on_settled(struct guest_listener *listener, guest_listener_settled settled);

/* Takes guests of this user, too, and lets all users connect. 0 or -errno. */
int guest_listener_allow(struct guest_listener *listener, uid_t uid);

/* From now on asks guests to keep their memory for the agent that comes after this one. */
void guest_listener_keep_rings(struct guest_listener *listener);

/* Takes in all who have come so far and said what they want, as before the end. Waits for nobody. */
void guest_listener_take_all(struct guest_listener *listener);

/* Shows out peers whose time is up. Returns when to call again; UINT64_MAX: no peer is in its
 * handshake. */
uint64_t guest_listener_step(struct guest_listener *listener, uint64_t now_ns);

/* Peers that were refused or shown out so far. */
uint64_t guest_listener_refused(const struct guest_listener *listener);

#endif
