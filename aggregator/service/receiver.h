/* The aggregator's ZeroMQ socket: frames in, checked messages out, answers back. Beside admission.c and
 * connection_watch.c the only file here that includes zmq.h. Sending never blocks: an answer that cannot be sent
 * is dropped, because every answer may be repeated. Used by one thread. */
#ifndef RECEIVER_H
#define RECEIVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "peer_table.h"

#include "proto/batch/message.h"

#define RECEIVER_BAD_FRAMES_MAX 3u

struct key_set;
struct receiver;

/* zmq_context NULL: one of its own; else borrowed until destroy. 0 or -errno with *receiver NULL.
 */
int receiver_create(void *zmq_context, struct receiver **receiver);
void receiver_destroy(struct receiver *receiver); /* accepts NULL */

/* Before anything is bound: from now on only those who have the agents' key may connect by network or ipc://, and
 * all that passes is encrypted; inproc:// is as it was. keys: an aggregator's, copied. 0 or -errno as
 * admission_create(). */
int receiver_protect(struct receiver *receiver, const struct key_set *keys);

/* Without keys an ipc:// socket is for its user alone; before other threads make files, as the process's mask is set
 * meanwhile. *actual: the endpoint with its port resolved (owns: free()). 0 or -errno (-EPROTONOSUPPORT: not an
 * endpoint). */
int receiver_bind(struct receiver *receiver, const char *endpoint, char **actual);

/* Until a frame is there, wake_fd is readable or the time is over. 0, also if interrupted, or
 * -errno. */
int receiver_wait(struct receiver *receiver, int wake_fd, int timeout_ms);

/* The next good message and who sent it; what is bad or not known is counted on the way. Both are
 * borrowed until the next call. 1; 0: nothing is there; -errno. */
int receiver_next(struct receiver *receiver, struct peer **peer, const struct message **message);

/* 0; -EAGAIN, -EHOSTUNREACH: dropped; other -errno. */
int receiver_send(struct receiver *receiver, const struct peer *peer,
		  const struct message *message);

/* Sends REFUSE with that text. The same errors. */
int receiver_refuse(struct receiver *receiver, const struct peer *peer, enum refuse_code code,
		    const char *reason);

/* A bad message: the third of a peer is answered with REFUSE, and the peer is not heard any more.
 */
void receiver_count_bad(struct receiver *receiver, struct peer *peer, const char *reason);

/* Ends connections that have said nothing for long, if all that came was read (all_read), and others where there
 * are too many. To be called after each round of receiver_next(). */
void receiver_tidy(struct receiver *receiver, uint64_t now_ns, bool all_read);

struct peer_table *receiver_peers(struct receiver *receiver); /* borrowed until destroy */

struct receiver_counts {
	uint64_t frames, bytes;
	uint64_t bad_frames;
	uint64_t unknown;   /* messages of a type or version that we do not know */
	uint64_t refused;   /* REFUSE messages sent */
	uint64_t strangers; /* connections that were turned away for their key */
	uint64_t crowded;   /* connections that were ended: there were as many as there may be */
};
const struct receiver_counts *receiver_counts(const struct receiver *receiver);

#endif
