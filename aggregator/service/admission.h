/* Lets only peers with the agents' key, or with a key of one of the site's users, connect to an aggregator's socket.
 * Where munge says who users are, a peer with any other key may connect, too, and is marked as unproven. ZeroMQ asks
 * about each new connection, before it reads anything else of it (ZAP, ZeroMQ RFC 27). If nobody answered, CURVE would
 * admit everybody. There is one admission for each ZeroMQ context. One thread uses it; ZeroMQ's threads wait for its
 * answers. */
#ifndef ADMISSION_H
#define ADMISSION_H

#include <stdbool.h>
#include <stdint.h>

#include "proto/trust/key_set.h"

struct admission;
struct user_keys;

/* The ZeroMQ user id (ZAP) of peers with the agents' key, who may send for every user. It is no user's name. */
#define ADMISSION_ANY_USER "*"

/* The first character of the user id of an unproven peer; its key follows. */
#define ADMISSION_UNPROVEN '?'

/* Makes two new pairs of keys. 0; -ENOTSUP: this ZeroMQ was built without CURVE. */
int admission_make_keys(struct key_set *keys);

/* Answers the questions of a context from now on. The keys are copied; users (NULL: none) is borrowed until destroy. A
 * user's connection gets the user's name as its user id. by_munge, without users: admits unproven peers. 0; -EINVAL:
 * they are not an aggregator's; -EADDRINUSE: another admission answers in this context; -ENOTSUP; other -errno. On
 * error *admission is NULL. */
int admission_create(void *zmq_context, const struct key_set *keys, struct user_keys *users,
		     bool by_munge, struct admission **admission);
void admission_destroy(struct admission *admission); /* accepts NULL; admits no more peers */

/* Makes a socket of that context ask. Call it before the socket is bound. 0 or -errno. */
int admission_guard(const struct admission *admission, void *zmq_socket);

/* For zmq_poll(): readable when there are questions. Borrowed until destroy. */
void *admission_socket(struct admission *admission);

/* Answers all waiting questions. It does not block. */
void admission_step(struct admission *admission);

/* Connections that were refused so far because of their key. */
uint64_t admission_refused(const struct admission *admission);

#endif
