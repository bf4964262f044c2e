/* Connects to an aggregator without HELLO, to ask it something as `flamegrid control` and `flamegrid fetch` do.
 * Questions and answers may be lost, so callers ask again. Single-threaded. */
#ifndef AGGREGATOR_CLIENT_H
#define AGGREGATOR_CLIENT_H

#include <stdbool.h>
#include <stdint.h>

#include "proto/batch/message.h"

struct batch_decoder;
struct batch_encoder;
struct dealer_socket;
struct key_set;

struct aggregator_client {            /* zeroed memory is closed */
	struct dealer_socket *dealer; /* owns, as the next two */
	struct batch_encoder *encoder;
	struct batch_decoder *decoder;
	uint64_t token; /* random, never 0, for questions */
	bool is_lost;   /* the connection was lost, and nothing has come since */
};

/* Begins to connect to the endpoint. keys: an agent's or a user's, copied; NULL: none. 0 or -errno, for
 * aggregator_client_explain(). Call aggregator_client_close() in either case. */
int aggregator_client_open(struct aggregator_client *client, const char *endpoint,
			   const struct key_set *keys);
void aggregator_client_close(struct aggregator_client *client);

/* Does the same for an endpoint and a file of keys (NULL: none) that the user named. It resolves the endpoint's host,
 * which may take long. -EACCES: the file of keys cannot be used; -ENOENT: the aggregator cannot be reached. These two
 * are logged here. */
int aggregator_client_open_named(struct aggregator_client *client, const char *endpoint,
				 const char *keys_path);

/* Sends a message. 1: it is on its way; 0: not now; -errno. */
int aggregator_client_send(struct aggregator_client *client, const struct message *message);

/* Takes the next message, borrowed until the next call; type 0: it cannot be decoded. 1; 0: none is there;
 * -EKEYREJECTED: the aggregator does not take the keys; -ENOKEY: munge does not say whose the connection is; other
 * -errno. */
int aggregator_client_receive(struct aggregator_client *client, struct message *message);

/* Waits until there is news or the time is over. */
void aggregator_client_wait(struct aggregator_client *client, int timeout_ms);

/* Returns whether the endpoint has ever taken a connection. */
bool aggregator_client_has_reached(const struct aggregator_client *client);

/* Returns a text for an -errno of these functions. endpoint: what the user named, NULL: nothing. Borrowed until the
 * next call. */
const char *aggregator_client_explain(const struct aggregator_client *client, int error,
				      const char *endpoint);

#endif
