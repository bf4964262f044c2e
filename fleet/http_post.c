#include "http_post.h"

#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "curl_library.h"

#include "base/error_text.h"

#define CONNECT_S      10L
#define CURL_TOO_LARGE 100 /* CURLE_TOO_LARGE, which libcurl has from 8.6 on */

struct http_post {
	const struct curl_library *library;
	const struct export_target *target;
	const struct http_post_header *headers;
	size_t nr_headers;
	bool has_basic;
	CURL *curl;  /* owns, as all below */
	char *query; /* of the next request; NULL: none */
	bool failed; /* no memory */
	char message[CURL_ERROR_SIZE];
};

int http_post_create(const struct export_target *target, const struct http_post_header *headers,
		     size_t nr_headers, bool has_basic, struct http_post **post, char **error)
{
	const struct curl_library *library;
	int status = curl_library_open(&library, error);

	*post = NULL;
	if (status)
		return status;
	*post = calloc(1, sizeof(**post));
	if (!*post)
		return -ENOMEM;
	(*post)->library = library;
	(*post)->target = target;
	(*post)->headers = headers;
	(*post)->nr_headers = nr_headers;
	(*post)->has_basic = has_basic;
	(*post)->curl = library->easy_init();
	return (*post)->curl ? 0 : -ENOMEM;
}

void http_post_destroy(struct http_post *post)
{
	if (!post)
		return;
	if (post->curl)
		post->library->easy_cleanup(post->curl);
	free(post->query);
	free(post);
}

void http_post_add(struct http_post *post, const char *name, const char *value)
{
	char *escaped = post->library->easy_escape(post->curl, value, 0), *query = NULL;

	if (!escaped ||
	    asprintf(&query, "%s%s=%s&", post->query ? post->query : "", name, escaped) < 0) {
		post->failed = true;
		query = NULL;
	}
	post->library->free(escaped);
	free(post->query);
	post->query = query;
}

static size_t take_reply(char *data, size_t one, size_t size, void *context)
{
	struct http_reply *reply = context;

	(void)one;
	if (size > HTTP_POST_REPLY_MAX - reply->size)
		return 0;
	memcpy(reply->text + reply->size, data, size);
	reply->size += size;
	return size;
}

struct answer {
	const char *failure_header;
	struct http_reply *reply;
};

/* Takes a line of the head, or behind the body, where a server may still tell that it has failed. */
static size_t take_header(char *line, size_t one, size_t size, void *context)
{
	const struct answer *answer = context;
	const size_t name_size = strlen(answer->failure_header);
	char *failure = answer->reply->failure;

	(void)one;
	if (size <= name_size || line[name_size] != ':' ||
	    strncasecmp(line, answer->failure_header, name_size) != 0)
		return size;
	const char *value = line + name_size + 1, *end = line + size;
	while (value < end && isspace((unsigned char)*value))
		value++;
	while (end > value && isspace((unsigned char)end[-1]))
		end--;
	snprintf(failure, sizeof(answer->reply->failure), "%.*s", (int)(end - value), value);
	if (!*failure)
		strcpy(failure, "?");
	return size;
}

static bool add_header(const struct curl_library *library, struct curl_slist **headers,
		       const char *name, const char *value)
{
	char *line = NULL;

	if (!value)
		return true;
	if (asprintf(&line, "%s: %s", name, value) < 0)
		return false;
	struct curl_slist *longer = library->slist_append(*headers, line);
	explicit_bzero(line, strlen(line));
	free(line);
	if (longer)
		*headers = longer;
	return longer != NULL;
}

static bool make_headers(const struct http_post *post, const struct http_post_request *request,
			 struct curl_slist **headers)
{
	const struct curl_library *library = post->library;
	bool done = true;

	for (size_t i = 0; i < post->nr_headers && done; i++)
		done = add_header(library, headers, post->headers[i].name, post->headers[i].value);
	return done &&
	       add_header(library, headers, "Content-Encoding", request->is_gzip ? "gzip" : NULL) &&
	       add_header(library, headers, "Expect", "") &&
	       add_header(library, headers, "Content-Type", request->type);
}

/* The system's certificates by their places in distributions: a library that was built for another one looks elsewhere.
 * NULL: the library's own place. */
static const char *find_authorities(const struct export_target *target)
{
	static const char *const places[] = {
		"/etc/ssl/certs/ca-certificates.crt", /* Debian, Ubuntu, Arch */
		"/etc/pki/tls/certs/ca-bundle.crt",   /* Red Hat */
		"/etc/ssl/ca-bundle.pem",             /* SUSE */
	};
	const char *given = target->ca ? target->ca : getenv("SSL_CERT_FILE");

	for (size_t i = 0; !given && i < sizeof(places) / sizeof(*places); i++)
		if (access(places[i], R_OK) == 0)
			given = places[i];
	return given;
}

static void prepare(struct http_post *post, const char *url,
		    const struct http_post_request *request, struct curl_slist *headers,
		    struct answer *answer)
{
	const struct curl_library *library = post->library;
	CURL *curl = post->curl;

	library->easy_reset(curl); /* keeps the connection */
	library->easy_setopt(curl, CURLOPT_URL, url);
#if LIBCURL_VERSION_NUM >= 0x075500
	library->easy_setopt(curl, CURLOPT_PROTOCOLS_STR, "http,https");
#else
	library->easy_setopt(curl, CURLOPT_PROTOCOLS, (long)(CURLPROTO_HTTP | CURLPROTO_HTTPS));
#endif
	library->easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
	library->easy_setopt(curl, CURLOPT_CONNECTTIMEOUT, CONNECT_S);
	library->easy_setopt(curl, CURLOPT_TIMEOUT, (long)post->target->timeout_s);
	library->easy_setopt(curl, CURLOPT_POST, 1L);
	library->easy_setopt(curl, CURLOPT_POSTFIELDS, request->body);
	library->easy_setopt(curl, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)request->size);
	library->easy_setopt(curl, CURLOPT_HTTPHEADER, headers);
	library->easy_setopt(curl, CURLOPT_WRITEFUNCTION, take_reply);
	library->easy_setopt(curl, CURLOPT_WRITEDATA, answer->reply);
	if (answer->failure_header) {
		library->easy_setopt(curl, CURLOPT_HEADERFUNCTION, take_header);
		library->easy_setopt(curl, CURLOPT_HEADERDATA, answer);
	}
	library->easy_setopt(curl, CURLOPT_ERRORBUFFER, post->message);
	library->easy_setopt(curl, CURLOPT_USERAGENT, "flamegrid/" FLAMEGRID_VERSION);
	/* libcurl itself repeats a request on a used connection that ends without an answer. What the server has
	 * already taken would be there twice. */
	library->easy_setopt(curl, CURLOPT_FRESH_CONNECT, (long)request->is_change);
	if (post->has_basic) {
		library->easy_setopt(curl, CURLOPT_HTTPAUTH, (long)CURLAUTH_BASIC);
		library->easy_setopt(curl, CURLOPT_USERNAME, post->target->user);
		library->easy_setopt(curl, CURLOPT_PASSWORD, post->target->password);
	}
	const char *authorities = find_authorities(post->target);
	if (authorities)
		library->easy_setopt(curl, CURLOPT_CAINFO, authorities);
}

/* libcurl tells a head above its limits as CURLE_TOO_LARGE, and before 8.6 as a lack of memory. */
static int explain(const struct http_post *post, CURLcode code, bool is_sent, char **error)
{
	const char *url = post->target->url;

	if (code == CURLE_WRITE_ERROR || (int)code == CURL_TOO_LARGE)
		return error_text_set(error, -EPROTO, "%s: its answer is too long", url);
	if (code == CURLE_OUT_OF_MEMORY && is_sent)
		return error_text_set(error, -EPROTO,
				      "%s: the head of its answer is too long, or memory is short",
				      url);
	return error_text_set(error, -EIO, "%s: %s", url,
			      *post->message ? post->message : post->library->easy_strerror(code));
}

int http_post_send(struct http_post *post, const struct http_post_request *request,
		   struct http_reply *reply, char **error)
{
	struct answer answer = {request->failure_header, reply};
	struct curl_slist *headers = NULL;
	char *url = NULL;
	int status = 0;
	long sent = 0; /* bytes of the head */

	reply->is_unsent = true;
	reply->status = 0;
	reply->size = 0;
	*reply->failure = '\0';
	*post->message = '\0';
	if (post->failed ||
	    asprintf(&url, "%s%s%s%s", post->target->url, request->path, post->query ? "?" : "",
		     post->query ? post->query : "") < 0 ||
	    !make_headers(post, request, &headers)) {
		status = -ENOMEM;
	} else {
		prepare(post, url, request, headers, &answer);
		CURLcode code = post->library->easy_perform(post->curl);
		post->library->easy_getinfo(post->curl, CURLINFO_RESPONSE_CODE, &reply->status);
		post->library->easy_getinfo(post->curl, CURLINFO_REQUEST_SIZE, &sent);
		reply->is_unsent = sent == 0;
		if (code != CURLE_OK)
			status = explain(post, code, sent > 0, error);
	}
	reply->text[reply->size] = '\0';
	post->library->slist_free_all(headers);
	free(url);
	free(post->query);
	post->query = NULL;
	post->failed = false;
	return status;
}
