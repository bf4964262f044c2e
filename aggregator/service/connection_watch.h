/* Watches the connections of a receiver's socket, by network and ipc://, through ZeroMQ's monitor. It ends silent
 * connections, and keeps their number below a limit: at the descriptor limit a listener that cannot accept would spin.
 *
 * ZeroMQ has no call that ends one connection, but its monitor names each connection's descriptor. shutdown() of that
 * descriptor ends the connection as if its peer had closed it. ZeroMQ may have closed the descriptor meanwhile, so it
 * may belong to another connection. Then that agent connects again, and nothing is lost. Used by one thread. */
#ifndef CONNECTION_WATCH_H
#define CONNECTION_WATCH_H

#include <stdbool.h>
#include <stdint.h>

#include "proto/batch/message.h"

#define CONNECTION_WATCH_SILENT_NS 30000000000ull /* without a message that we understand */
/* ZeroMQ bounds the size of a message's parts but not their number, and gives us none before the last. Each part costs
 * 64 bytes of memory, but only 2 by the network without keys. So these bound the bytes that come without a whole
 * message: of a connection by which no message came that we understand, of all such connections together, of another
 * connection, and of all others together. Beyond the sums those end that have more than an equal share. */
#define CONNECTION_WATCH_FIRST_MAX       (1u << 20)
#define CONNECTION_WATCH_FIRST_SUM_MAX   (8u << 20)
#define CONNECTION_WATCH_ENDLESS_MAX     (2 * WIRE_FRAME_MAX)
#define CONNECTION_WATCH_ENDLESS_SUM_MAX (1u << 30)

/* Milliseconds between two looks at the bytes of the first two kinds. */
#define CONNECTION_WATCH_LOOK_MS 100u

struct connection_watch;

struct connection_watch_counts {
	uint32_t open;
	uint64_t silent;  /* ended because nothing came in time */
	uint64_t endless; /* ended because a message did not end */
	uint64_t crowded; /* ended because there were too many */
	uint64_t asked;   /* ended by connection_watch_end() */
};

/* Watches all connections that a socket of that context accepts from now on, at most connections_max at once (1 or
 * more). 0; -ENOMEM; other -errno of ZeroMQ. On error *watch is NULL. */
int connection_watch_create(void *zmq_context, void *zmq_socket, uint32_t connections_max,
			    struct connection_watch **watch);

/* Call it before the socket is closed. Accepts NULL. */
void connection_watch_destroy(struct connection_watch *watch);

/* For zmq_poll(): readable when the monitor has news. Borrowed until destroy. */
void *connection_watch_socket(struct connection_watch *watch);

/* Takes the news, and ends connections while there are too many. */
void connection_watch_step(struct connection_watch *watch, uint64_t now_ns);

/* Notes a message that we understand from the connection with this descriptor; -1: from within this process. false: the
 * monitor has not yet reported the connection; call it again with the next message. */
bool connection_watch_heard(struct connection_watch *watch, int fd);

/* Notes that a whole message of one part came by the connection. Messages of several parts do not count: no agent sends
 * any. */
void connection_watch_took(struct connection_watch *watch, int fd);

/* The connection's peer is ignored from now on: it counts as silent since it was accepted. */
void connection_watch_ignore(struct connection_watch *watch, int fd);

/* Ends this connection, if it is watched. */
void connection_watch_end(struct connection_watch *watch, int fd);

/* Ends connections that have been silent for too long, and, by TCP, those with an endless message. Call it only when
 * every message was read: otherwise we may be the slow side. */
void connection_watch_expire(struct connection_watch *watch, uint64_t now_ns);

/* Returns the milliseconds after which connection_watch_expire() is due, if that is before wait_ms (-1: never). */
int connection_watch_wait_ms(const struct connection_watch *watch, int wait_ms);

const struct connection_watch_counts *connection_watch_counts(const struct connection_watch *watch);

#endif
