/* The aggregator's ZeroMQ socket. It checks and decodes frames, and sends answers. Only receiver.c, admission.c and
 * connection_watch.c include zmq.h here. Sending never blocks: an answer that cannot be sent is dropped, because every
 * answer may be repeated. Used by one thread. */
#ifndef RECEIVER_H
#define RECEIVER_H

#include <stdbool.h>
#include <stdint.h>

#include "peer_table.h"

#include "proto/batch/message.h"

#define RECEIVER_BAD_FRAMES_MAX 3u

struct held_frame;
struct key_set;
struct receiver;
struct user_keys;

/* zmq_context NULL: one of its own; else borrowed until destroy. 0 or -errno with *receiver NULL.
 */
int receiver_create(void *zmq_context, struct receiver **receiver);
void receiver_destroy(struct receiver *receiver); /* accepts NULL */

/* Call it before anything is bound. From then on only peers with the agents' key may connect by network or ipc://, and
 * all traffic there is encrypted. inproc:// stays as it is. keys: an aggregator's, copied. 0 or -errno as
 * admission_create(). With users (NULL: none; borrowed until destroy) a peer with a user's key may connect, too, and
 * peer->user says whose it is. by_munge, without users: a peer with any other key may connect, too. Until
 * peer->proven is set, receiver_next() returns its PROOF alone, and refuses or drops all else. */
int receiver_protect(struct receiver *receiver, const struct key_set *keys, struct user_keys *users,
		     bool by_munge);

/* Binds an endpoint. Without keys an ipc:// socket is for its user alone. The process's umask changes during the call,
 * so call it before other threads make files. For ipc://PATH the receiver holds the lock PATH.lock until it is
 * destroyed, and replaces the socket of a process that was killed. *actual is the endpoint with its port resolved; the
 * caller owns it (free()). 0 or -errno (-EPROTONOSUPPORT: not an endpoint; -EADDRINUSE: another receiver or program
 * listens there). */
int receiver_bind(struct receiver *receiver, const char *endpoint, char **actual);

/* Waits until a frame has come, wake_fd is readable or the time is over. 0, also if interrupted, or -errno. */
int receiver_wait(struct receiver *receiver, int wake_fd, int timeout_ms);

/* The next good message and its sender; bad and unknown ones before it are counted. Both are borrowed until the next
 * call. Data of a peer with a profile (message_seq.h) is not decoded: nothing but the message's type is set. 1; 0: no
 * message; -errno. */
int receiver_next(struct receiver *receiver, struct peer **peer, const struct message **message);

/* Fills in the frame of the message that came last, as its peer's: the bytes are borrowed until the next one. */
void receiver_frame(struct receiver *receiver, const struct peer *peer, struct held_frame *frame);

/* The same in memory of its own, which the caller releases. NULL: out of memory. */
struct held_frame *receiver_hold(struct receiver *receiver, const struct peer *peer);

/* 0; -EAGAIN, -EHOSTUNREACH: dropped; other -errno. */
int receiver_send(struct receiver *receiver, const struct peer *peer,
		  const struct message *message);

/* Sends REFUSE with that text. Errors as receiver_send(). */
int receiver_refuse(struct receiver *receiver, const struct peer *peer, enum refuse_code code,
		    const char *reason);

/* Counts a bad message. The third one of a peer is answered with REFUSE, and the peer is ignored from then on. */
void receiver_count_bad(struct receiver *receiver, struct peer *peer, const char *reason);

/* Counts a message of an unknown type or version. */
void receiver_count_unknown(struct receiver *receiver);

/* Ends connections that have been silent for long, if every message was read (all_read). Ends others if there are too
 * many. Call it after each round of receiver_next(). */
void receiver_tidy(struct receiver *receiver, uint64_t now_ns, bool all_read);

struct peer_table *receiver_peers(struct receiver *receiver); /* borrowed until destroy */

struct receiver_counts {
	uint64_t frames, bytes;
	uint64_t bad_frames;
	uint64_t unknown;   /* messages of an unknown type or version */
	uint64_t refused;   /* REFUSE messages sent */
	uint64_t strangers; /* connections that were refused because of their key */
	uint64_t crowded;   /* connections that were ended because there were too many */
};
const struct receiver_counts *receiver_counts(const struct receiver *receiver);

#endif
