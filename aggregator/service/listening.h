/* The endpoints that an aggregator listens on. Used by the aggregator's thread. */
#ifndef LISTENING_H
#define LISTENING_H

#include <stdbool.h>
#include <stdint.h>

struct receiver;

struct listening {        /* zeroed: nothing is bound */
	char **endpoints; /* owns; as bound: a port of * or 0 is resolved */
	uint32_t nr_endpoints;
};

struct listening_options {            /* strings are borrowed for the call */
	const char *const *endpoints; /* ZeroMQ's */
	uint32_t nr_endpoints;
	bool has_keys; /* only peers with keys may connect by network or ipc:// */
	bool insecure; /* without keys: other machines may connect, too */
};

/* Binds all endpoints, and warns on stderr of those by which anybody could connect. 0 or -errno; on error *error (if
 * error is not NULL) is one line, which the caller owns (free()). -EACCES: an endpoint needs keys, or `insecure`. Call
 * listening_fini() in either case. */
int listening_bind(struct listening *listening, struct receiver *receiver,
		   const struct listening_options *options, char **error);
/* Frees the list. The endpoints stay bound until the receiver's end. */
void listening_fini(struct listening *listening);

#endif
