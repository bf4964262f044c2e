/* A small HTTP server for numbers that other programs read. It answers GET and HEAD, keeps no state, and has a thread
 * of its own. Clients are hostile: connections, their memory and their time are bounded. Start and stop are called by
 * one thread; the answers are made in the server's. */
#ifndef HTTP_SERVER_H
#define HTTP_SERVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "http_address.h"

#define HTTP_SERVER_CONNECTIONS   32u    /* at once; further ones wait for a place */
#define HTTP_SERVER_PER_ADDRESS   8u     /* of one client address; further ones are closed */
#define HTTP_SERVER_REQUEST_BYTES 8192u  /* of a request with all its headers */
#define HTTP_SERVER_TIME_MS       10000u /* of a connection: then it is closed, whatever it does */
#define HTTP_SERVER_FULL_MS       500u /* the same, while all places are taken and others may wait */

struct http_server;

/* A request: strings are borrowed for the call. */
struct http_request {
	const char *path;   /* without the query */
	const char *accept; /* the header; "": there is none */
};

struct http_answer {
	uint32_t status;  /* of HTTP; 200 */
	const char *type; /* of the body; static storage */
	char *body;       /* malloc()ed; the server takes it */
	size_t size;
};

/* Fills in a zeroed answer. 0; -ENOENT: there is nothing at this path (404); another error: the server says that it
 * failed (500). Called in the server's thread, for one request after the other. */
typedef int http_answer_fn(void *context, const struct http_request *request,
			   struct http_answer *answer);

struct http_server_options {
	struct http_address address;
	http_answer_fn *answer;
	void *context;    /* borrowed until stop */
	uint32_t time_ms; /* 0: HTTP_SERVER_TIME_MS */
};

/* Listens, and starts the thread, which has no signals and the caller's capabilities. 0 or -errno; *error is then one
 * line that the caller owns (free()), or NULL without memory, and *server is NULL. -ENOPKG: there is no
 * libmicrohttpd. */
int http_server_start(const struct http_server_options *options, struct http_server **server,
		      char **error);

/* Closes all connections. Accepts NULL. */
void http_server_stop(struct http_server *server);

/* The address with the port that it has. Borrowed until stop. */
const struct http_address *http_server_address(const struct http_server *server);

#endif
