/* A DEALER of ZeroMQ that is connected to one endpoint, with a monitor that tells when the connection goes, behind one
 * descriptor. Nothing here blocks. The only file of the agent that includes zmq.h. Single-threaded: only the agent loop
 * calls it. */
#ifndef DEALER_SOCKET_H
#define DEALER_SOCKET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct dealer_socket;
struct key_set;

/* Not connected. endpoint NULL: it is not known yet, and opening fails with -EDESTADDRREQ until dealer_socket_aim().
 * zmq_context is borrowed until destroy; NULL: one of its own. keys: an agent's, copied; NULL: the connection is
 * neither authenticated nor encrypted. 0; -ENOTSUP: this ZeroMQ was built without CURVE; -EINVAL: these are not an
 * agent's keys; or -errno of ZeroMQ: *dealer is then NULL. */
int dealer_socket_create(const char *endpoint, void *zmq_context, const struct key_set *keys,
			 struct dealer_socket **dealer);
void dealer_socket_destroy(struct dealer_socket *dealer); /* accepts NULL; drops what isn't sent */

/* Another endpoint, and its keys, both copied, from the next opening on. 0; -EINVAL, -ENOTSUP: as above; -ENOMEM. On
 * error everything is as it was. */
int dealer_socket_aim(struct dealer_socket *dealer, const char *endpoint,
		      const struct key_set *keys);

/* For epoll, level-triggered, the same for life: readable when there is news of whatever is open. */
int dealer_socket_fd(const struct dealer_socket *dealer);

/* Begins to connect anew, which may take any time. 0 or -errno: closed. */
int dealer_socket_open(struct dealer_socket *dealer);
void dealer_socket_close(struct dealer_socket *dealer); /* if it is open */
bool dealer_socket_is_open(const struct dealer_socket *dealer);

/* The next frame, borrowed until the next call. 1; 0: none is there, or it is closed; -errno. */
int dealer_socket_receive(struct dealer_socket *dealer, const uint8_t **frame, size_t *size);

/* While it is open. 1: it is on its way; 0: not now; -errno. */
int dealer_socket_send(struct dealer_socket *dealer, const uint8_t *frame, size_t size);

/* Whether the connection went since the last call. It is made again without us, perhaps to another aggregator. */
bool dealer_socket_was_lost(struct dealer_socket *dealer);

/* How often who listens there has not taken our keys, or could not prove to have those that we expect; as told by
 * dealer_socket_was_lost(). */
uint64_t dealer_socket_refusals(const struct dealer_socket *dealer);

/* Whether somebody there has ever taken a connection, be it an aggregator or not; as told by
 * dealer_socket_was_lost(). */
bool dealer_socket_has_reached(const struct dealer_socket *dealer);

/* The descriptor only tells of news: as long as this is true, there is more to receive, or to send again what could not
 * be. */
bool dealer_socket_has_work(struct dealer_socket *dealer);

/* What an -errno of these functions says. Static storage. */
const char *dealer_socket_error(int error);

#endif
