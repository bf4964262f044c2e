/* The connections of a receiver's socket, by network and ipc://, as ZeroMQ's monitor tells of them. Ends those that say
 * nothing, and keeps their number below a limit: without one, a listener that cannot accept would spin.
 *
 * ZeroMQ has no call that ends one connection, but it names the descriptor of each. shutdown() of it ends the
 * connection as its peer's end would. A descriptor that ZeroMQ closed meanwhile may have become another connection's:
 * that one is then made anew by its agent, and nothing is lost. Used by one thread. */
#ifndef CONNECTION_WATCH_H
#define CONNECTION_WATCH_H

#include <stdbool.h>
#include <stdint.h>

#define CONNECTION_WATCH_SILENT_NS 30000000000ull /* without a message that we understand */

struct connection_watch;

struct connection_watch_counts {
	uint32_t open;
	uint64_t silent;  /* ended: they said nothing in time */
	uint64_t crowded; /* ended: there were too many */
};

/* Watches what a socket of that context accepts from now on, connections_max at once (1 at least). 0; -ENOMEM;
 * other -errno of ZeroMQ. On error *watch is NULL. */
int connection_watch_create(void *zmq_context, void *zmq_socket, uint32_t connections_max,
			    struct connection_watch **watch);

/* Before the socket is closed. Accepts NULL. */
void connection_watch_destroy(struct connection_watch *watch);

/* For zmq_poll(), borrowed until destroy: readable when there is news. */
void *connection_watch_socket(struct connection_watch *watch);

/* Takes the news, and ends connections while there are too many. */
void connection_watch_step(struct connection_watch *watch, uint64_t now_ns);

/* A message that we understand came by the connection with this descriptor; -1: within this process. false: the
 * news of the connection has not been taken yet, so this is to be said with its next message, too. */
bool connection_watch_heard(struct connection_watch *watch, int fd);

/* Its peer is not heard any more: it counts as silent since it was accepted. */
void connection_watch_ignore(struct connection_watch *watch, int fd);

/* Ends those that have been silent for too long. To be called when all that came was read: else it is we who were
 * slow. */
void connection_watch_expire(struct connection_watch *watch, uint64_t now_ns);

const struct connection_watch_counts *connection_watch_counts(const struct connection_watch *watch);

#endif
