#include "pyroscope.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "http_post.h"

#include "base/clock.h"
#include "base/error_text.h"
#include "report/names/clean_text.h"

#define SAID_MAX 300 /* bytes of an answer in a message */
#define HEADERS  2u

#define TOO_MANY_REQUESTS 429

struct pyroscope {
	const struct export_target *target;
	struct http_post_header headers[HEADERS];
	struct http_post *post; /* owns, as the next one */
	char *bearer;
	struct http_reply reply;
};

int pyroscope_open(const struct export_target *target, struct pyroscope **pyroscope, char **error)
{
	const bool has_basic = target->user && target->password;

	*pyroscope = calloc(1, sizeof(**pyroscope));
	if (!*pyroscope)
		return -ENOMEM;
	(*pyroscope)->target = target;
	if (target->password && !has_basic &&
	    asprintf(&(*pyroscope)->bearer, "Bearer %s", target->password) < 0) {
		(*pyroscope)->bearer = NULL;
		return -ENOMEM;
	}
	(*pyroscope)->headers[0] = (struct http_post_header){"X-Scope-OrgID", target->tenant};
	(*pyroscope)->headers[1] = (struct http_post_header){"Authorization", (*pyroscope)->bearer};
	return http_post_create(target, (*pyroscope)->headers, HEADERS, has_basic,
				&(*pyroscope)->post, error);
}

void pyroscope_close(struct pyroscope *pyroscope)
{
	if (!pyroscope)
		return;
	http_post_destroy(pyroscope->post);
	if (pyroscope->bearer)
		explicit_bzero(pyroscope->bearer, strlen(pyroscope->bearer));
	free(pyroscope->bearer);
	free(pyroscope);
}

/* The request was not carried out; a timeout says nothing. */
static bool is_refusal(const struct http_reply *reply)
{
	return reply->is_unsent ||
	       (reply->status >= 300 && reply->status < 500 && reply->status != 408);
}

/* The answer to a push is a message in JSON. What another server may say is none. */
static bool is_done(const struct http_reply *reply)
{
	return reply->status == 200 && reply->text[strspn(reply->text, " \t\r\n")] == '{';
}

int pyroscope_push(struct pyroscope *pyroscope, const void *body, size_t size, bool *refused,
		   char **error)
{
	const struct http_post_request request = {.path = "/push.v1.PusherService/Push",
						  .type = "application/json",
						  .body = body,
						  .size = size,
						  .is_change = true};
	struct http_reply *reply = &pyroscope->reply;
	const uint64_t until_ns =
		clock_now_ns() + pyroscope->target->timeout_s * UINT64_C(1000000000);
	int status = http_post_send(pyroscope->post, &request, reply, error);

	/* A server takes only so many bytes a second. */
	while (!status && reply->status == TOO_MANY_REQUESTS && clock_now_ns() < until_ns) {
		sleep(1);
		status = http_post_send(pyroscope->post, &request, reply, error);
	}
	*refused = is_refusal(reply);
	if (status || is_done(reply))
		return status;
	char *text = clean_text_of(reply->text, strnlen(reply->text, SAID_MAX));
	status = error_text_set(error, -EPROTO, "%s: a push: HTTP status %ld: %s",
				pyroscope->target->url, reply->status, text ? text : "");
	free(text);
	return status;
}
