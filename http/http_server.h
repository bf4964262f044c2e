/* A small HTTP server for numbers that other programs read, and for pages. It answers GET and HEAD, and POST on
 * request, of which it reads no body. It keeps no state, and has a thread of its own. Clients are hostile: connections,
 * their memory and their time are bounded. Start and stop are called by one thread; the answers are made in the
 * server's. */
#ifndef HTTP_SERVER_H
#define HTTP_SERVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "http_address.h"

#define HTTP_SERVER_CONNECTIONS   32u    /* at once; further ones wait for a place */
#define HTTP_SERVER_REQUEST_BYTES 8192u  /* of a request with all its headers */
#define HTTP_SERVER_TIME_MS       10000u /* of a connection: then it is closed, whatever it does */
/* The same of one without an answer under way, while all places are taken and others may wait. */
#define HTTP_SERVER_FULL_MS 500u

struct http_server;

/* A request: strings are borrowed for the call. */
struct http_request {
	const char *path;   /* without the query */
	const char *accept; /* the header; "": there is none */
	const char *cookie; /* the same */
	const char *origin; /* the same: which page asks */
	const char *host;   /* the same */
	bool is_post;       /* it asks for a change */
	bool is_head;       /* HEAD: the answer has no body */
	const struct http_query *query;
};

#define HTTP_QUERY_NO_TEXT "\xff" /* in place of a value with a NUL, which would hide the rest */

/* Returns the value of a name in the query, decoded; "name" alone is "". NULL: it is not there. Borrowed as above. */
const char *http_query_value(const struct http_query *query, const char *name);

/* Returns whether the query has no other names than these, of which NULL is the last. */
bool http_query_has_only(const struct http_query *query, const char *const *names);

#define HTTP_ANSWER_HEADERS 6u

struct http_header {
	const char *name;
	char *value; /* malloc()ed; the server takes it */
};

struct http_answer {
	uint32_t status;  /* of HTTP; 200 */
	const char *type; /* of the body; static storage */
	char *body;       /* malloc()ed; the server takes it; NULL: the body is a file's */
	int fd;           /* of that file, from its begin on; the server takes it */
	size_t size;
	struct http_header
		headers[HTTP_ANSWER_HEADERS]; /* further ones; the first without a name ends them */
};

/* Adds a header with a copy of the value, which has no control characters. Without memory or room the answer lacks it:
 * -ENOMEM. */
int http_answer_header(struct http_answer *answer, const char *name, const char *value);

/* Fills in a zeroed answer. 0; -ENOENT: there is nothing at this path (404); another error: the server says that it
 * failed (500). Called in the server's thread, for one request after the other. */
typedef int http_answer_fn(void *context, const struct http_request *request,
			   struct http_answer *answer);

struct http_server_options {
	struct http_address address;
	http_answer_fn *answer;
	void *context;    /* borrowed until stop */
	uint32_t time_ms; /* 0: HTTP_SERVER_TIME_MS, in which a request comes in any case */
	bool takes_posts; /* else they are refused (405) */
	/* Called in the server's thread each second at least, with context, also while nobody asks; NULL: none. */
	void (*tend)(void *context);
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
