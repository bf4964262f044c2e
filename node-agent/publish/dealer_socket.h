/* Connects a DEALER socket of ZeroMQ to one endpoint. A monitor tells when the connection is lost, and one descriptor
 * stands for both. No function blocks. The agent includes zmq.h only in dealer_socket.c. Single-threaded: only the
 * agent loop calls it. */
#ifndef DEALER_SOCKET_H
#define DEALER_SOCKET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct dealer_socket;
struct key_set;

/* Creates a socket, which is not connected yet. endpoint NULL: it is not known yet, and opening fails with
 * -EDESTADDRREQ until dealer_socket_aim(). zmq_context is borrowed until destroy; NULL: the socket makes its own. keys:
 * an agent's, or the aggregator's public key, copied; NULL: the connection is neither authenticated nor encrypted. With
 * the public key alone each connection proves its user by munge (proof_exchange.h), and nothing else is sent before.
 * 0; -ENOTSUP: this ZeroMQ was built without CURVE; -EINVAL: these are no such keys; or -errno of ZeroMQ. On error
 * *dealer is NULL. */
int dealer_socket_create(const char *endpoint, void *zmq_context, const struct key_set *keys,
			 struct dealer_socket **dealer);
void dealer_socket_destroy(struct dealer_socket *dealer); /* accepts NULL; drops unsent frames */

/* Sets another endpoint and its keys, both copied, from the next opening on. 0; -EINVAL, -ENOTSUP: as above; -ENOMEM.
 * On error nothing changes. */
int dealer_socket_aim(struct dealer_socket *dealer, const char *endpoint,
		      const struct key_set *keys);

/* Returns a level-triggered descriptor for epoll, which stays for life. It is readable when an open socket has news. */
int dealer_socket_fd(const struct dealer_socket *dealer);

/* Begins to connect anew, which may take any time. 0 or -errno: it is closed. */
int dealer_socket_open(struct dealer_socket *dealer);
void dealer_socket_close(struct dealer_socket *dealer); /* closes it if it is open */

/* Receives the next frame, borrowed until the next call. 1; 0: no frame waits, or the socket is closed; -errno. */
int dealer_socket_receive(struct dealer_socket *dealer, const uint8_t **frame, size_t *size);

/* Sends a frame while the socket is open. 1: the frame is on its way; 0: not now; -errno. */
int dealer_socket_send(struct dealer_socket *dealer, const uint8_t *frame, size_t size);

/* Returns whether the connection was lost since the last call. ZeroMQ makes it again by itself, perhaps to another
 * aggregator. */
bool dealer_socket_was_lost(struct dealer_socket *dealer);

/* Returns how often the peer at the endpoint has refused our keys, or could not prove to have those that we expect.
 * dealer_socket_was_lost() updates the count. */
uint64_t dealer_socket_refusals(const struct dealer_socket *dealer);

/* Returns why the connection's user is not proven, in one line; "": nothing stands in the way. Borrowed until the next
 * call. */
const char *dealer_socket_problem(const struct dealer_socket *dealer);

/* Returns whether a peer at the endpoint has ever accepted a connection, be it an aggregator or not.
 * dealer_socket_was_lost() updates the answer. */
bool dealer_socket_has_reached(const struct dealer_socket *dealer);

/* Returns whether a peer at the endpoint has ever proved to have the secret of the key that we expect. As above. */
bool dealer_socket_is_proven(const struct dealer_socket *dealer);

/* Returns whether more can be received, or sent again after a failure. The descriptor only announces news, so the
 * caller asks until this is false. */
bool dealer_socket_has_work(struct dealer_socket *dealer);

/* Returns a text for an -errno of these functions. Static storage. */
const char *dealer_socket_error(int error);

#endif
