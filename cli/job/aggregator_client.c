#include "aggregator_client.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/random.h>

#include "aggregator_search.h"
#include "site_aggregator.h"

#include "base/log.h"
#include "node-agent/publish/dealer_socket.h"
#include "proto/batch/batch_decode.h"
#include "proto/batch/batch_encode.h"
#include "proto/trust/key_set.h"

int aggregator_client_open(struct aggregator_client *client, const char *endpoint,
			   const struct key_set *keys)
{
	*client = (struct aggregator_client){.encoder = batch_encoder_create(),
					     .decoder = batch_decoder_create()};
	if (!client->encoder || !client->decoder)
		return -ENOMEM;
	/* Nobody else may have the token; 0 means none. */
	if (getrandom(&client->token, sizeof(client->token), 0) != sizeof(client->token))
		return -errno;
	client->token |= 1;
	int r = dealer_socket_create(endpoint, NULL, keys, &client->dealer);
	return r ? r : dealer_socket_open(client->dealer);
}

void aggregator_client_close(struct aggregator_client *client)
{
	dealer_socket_destroy(client->dealer);
	batch_encoder_destroy(client->encoder);
	batch_decoder_destroy(client->decoder);
	*client = (struct aggregator_client){0};
}

int aggregator_client_open_named(struct aggregator_client *client, const char *endpoint,
				 const char *keys_path)
{
	struct key_set keys;
	char *error = NULL;

	*client = (struct aggregator_client){0};
	if (keys_path && site_aggregator_keys(keys_path, &keys, &error)) {
		log_error("%s", error ? error : keys_path);
		free(error);
		return -EACCES;
	}
	char *found = aggregator_search_once(endpoint);
	if (!found) {
		log_error("%s: the aggregator cannot be reached", endpoint);
		return -ENOENT;
	}
	int r = aggregator_client_open(client, found, keys_path ? &keys : NULL);
	free(found);
	return r;
}

int aggregator_client_send(struct aggregator_client *client, const struct message *message)
{
	const uint8_t *frame;
	size_t size;
	int r = batch_encode(client->encoder, message, &frame, &size);

	return r ? r : dealer_socket_send(client->dealer, frame, size);
}

int aggregator_client_receive(struct aggregator_client *client, struct message *message)
{
	const uint8_t *frame;
	size_t size;
	int r = dealer_socket_receive(client->dealer, &frame, &size);

	if (r > 0) {
		client->is_lost = false;
		if (batch_decode(client->decoder, frame, size, message))
			*message = (struct message){0};
		return 1;
	}
	client->is_lost |= dealer_socket_was_lost(client->dealer);
	if (r == 0 && dealer_socket_refusals(client->dealer))
		return -EKEYREJECTED;
	return r == 0 && *dealer_socket_problem(client->dealer) ? -ENOKEY : r;
}

void aggregator_client_wait(struct aggregator_client *client, int timeout_ms)
{
	struct pollfd ready = {.fd = dealer_socket_fd(client->dealer), .events = POLLIN};

	if (!dealer_socket_has_work(client->dealer))
		poll(&ready, 1, timeout_ms);
}

bool aggregator_client_has_reached(const struct aggregator_client *client)
{
	return dealer_socket_has_reached(client->dealer);
}

const char *aggregator_client_explain(const struct aggregator_client *client, int error,
				      const char *endpoint)
{
	static char text[512];

	if (error == -EKEYREJECTED)
		return "the keys do not fit";
	if (error == -ENOKEY)
		return dealer_socket_problem(client->dealer);
	if ((error != -EINVAL && error != -EPROTONOSUPPORT) || !endpoint)
		return dealer_socket_error(error);
	snprintf(text, sizeof(text), "%s: must be like tcp://HOST:PORT or ipc://PATH", endpoint);
	return text;
}
