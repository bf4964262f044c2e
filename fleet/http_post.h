/* HTTP requests with a body, one at a time. Follows no redirection, so that
 * passwords go nowhere else. Used by one thread. */
#ifndef HTTP_POST_H
#define HTTP_POST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "export_target.h"

#define HTTP_POST_REPLY_MAX   65536u
#define HTTP_POST_FAILURE_MAX 31u

struct http_post;

struct http_post_header {
	const char *name, *value; /* value NULL: it is not sent */
};

struct http_reply {
	long status;    /* of HTTP; 0: none came */
	bool is_unsent; /* not a byte of the request was sent */
	char failure[HTTP_POST_FAILURE_MAX +
		     1]; /* the beginning of what failure_header has; "": it did not come */
	size_t size;     /* without the NUL */
	char text[HTTP_POST_REPLY_MAX + 1]; /* NUL-terminated; a longer answer is an error */
};

/* Each request has these headers, which are borrowed until destroy, as the target is. has_basic: the target's user and
 * password go with it as HTTP's Basic authentication. 0; -ENOPKG: there is no libcurl,
 * and *error is one line, which the caller owns (free()); -ENOMEM. Call http_post_destroy() in either case; it accepts
 * NULL. */
int http_post_create(const struct export_target *target, const struct http_post_header *headers,
		     size_t nr_headers, bool has_basic, struct http_post **post, char **error);
void http_post_destroy(struct http_post *post);

/* Appends `name=value&` to the query of the next request, percent-encoded. Lack of memory makes that request fail. */
void http_post_add(struct http_post *post, const char *name, const char *value);

struct http_post_request {
	const char *path; /* "/" … */
	const char *type; /* of the body */
	const void *body;
	size_t size;
	const char *
		failure_header; /* by which a server tells a failure, whatever the status; NULL: none */
	bool is_gzip;           /* the body is compressed so */
	bool is_change; /* it must not be sent twice: a used connection may end without an answer */
};

/* Sends the request. 0: an answer came, whatever its status; or -errno with *error one line, which the caller owns
 * (free()): whether the server did what was asked is then not known. */
int http_post_send(struct http_post *post, const struct http_post_request *request,
		   struct http_reply *reply, char **error);

#endif
