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
	bool has_keys; /* only those who have them may connect by network or ipc:// */
	bool insecure; /* without keys: others than this machine may connect */
};

/* Binds all, and warns on stderr of those by which others could come in. 0 or -errno, with *error (if error is not
 * NULL) one line, owns: free(). -EACCES: an endpoint needs keys, or `insecure`. listening_fini() in either case. */
int listening_bind(struct listening *listening, struct receiver *receiver,
		   const struct listening_options *options, char **error);
void listening_fini(
	struct listening *listening); /* what is bound stays so until the receiver's end */

#endif
