#include "metrics_endpoint.h"

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "metrics_text.h"
#include "own_cost.h"

#include "base/clock.h"
#include "base/error_text.h"
#include "base/log.h"
#include "http/http_server.h"

/* A text answers all requests for so long: clients that ask on and on cost no more than one does. */
#define FRESH_NS 500000000u

struct kept_text {
	char *bytes; /* owns; NULL: none yet */
	size_t size;
	uint64_t made_ns;
};

struct metrics_endpoint {
	struct http_server *server; /* owns */
	metrics_write_fn *write;
	void *context;
	struct kept_text
		kept[2]; /* of the older format, and of OpenMetrics; the server's thread has them */
};

static const struct metrics_family build_info = {
	"flamegrid_build_info", METRICS_GAUGE, NULL,
	"Always 1; the label is the version of Flamegrid."};

static int renew(const struct metrics_endpoint *endpoint, bool is_open, struct kept_text *kept)
{
	const struct metrics_label version = {"version", FLAMEGRID_VERSION};
	struct metrics_text *text = metrics_text_create(is_open);
	char *bytes;
	size_t size;

	if (!text)
		return -ENOMEM;
	metrics_text_family(text, &build_info);
	metrics_text_number(text, &version, 1, 1);
	endpoint->write(endpoint->context, text);
	own_cost_write(text);
	int status = metrics_text_take(text, &bytes, &size);

	metrics_text_destroy(text);
	if (status)
		return status;
	free(kept->bytes);
	*kept = (struct kept_text){bytes, size, clock_now_ns()};
	return 0;
}

static int answer_request(void *context, const struct http_request *request,
			  struct http_answer *answer)
{
	struct metrics_endpoint *endpoint = context;
	const bool is_open = strstr(request->accept, "application/openmetrics-text") != NULL;
	struct kept_text *kept = &endpoint->kept[is_open];
	int status = 0;

	if (strcmp(request->path, "/metrics") != 0)
		return -ENOENT;
	if (!kept->bytes || clock_now_ns() - kept->made_ns >= FRESH_NS)
		status = renew(endpoint, is_open, kept);
	answer->body = status ? NULL : malloc(kept->size);
	if (!answer->body)
		return status ? status : -ENOMEM;
	memcpy(answer->body, kept->bytes, kept->size);
	answer->size = kept->size;
	answer->status = 200;
	answer->type = is_open ? METRICS_TEXT_OPEN_TYPE : METRICS_TEXT_PLAIN_TYPE;
	return 0;
}

int metrics_endpoint_take(void *context, const char *name, const char *value, char **error)
{
	char *why = NULL;
	int status = http_address_parse(value, context, &why);

	if (why)
		error_text_set(error, status, "--%s %s", name, why);
	free(why);
	return status;
}

static void say_where(const struct http_server *server)
{
	const struct http_address *address = http_server_address(server);
	char text[HTTP_ADDRESS_TEXT_MAX];

	http_address_text(address, text);
	log_info("metrics are at http://%s/metrics", text);
	if (!http_address_is_local(address))
		log_warning("--metrics %s: everybody who reaches it can read the metrics", text);
}

static int start(struct metrics_endpoint *endpoint, const struct http_address *where, char **error)
{
	const struct http_server_options options = {
		.address = *where, .answer = answer_request, .context = endpoint};

	return endpoint ? http_server_start(&options, &endpoint->server, error) : -ENOMEM;
}

struct metrics_endpoint *metrics_endpoint_start(const struct http_address *where,
						metrics_write_fn *write, void *context)
{
	char *error = NULL;

	if (!where->size)
		return NULL;
	struct metrics_endpoint *endpoint = calloc(1, sizeof(*endpoint));
	if (endpoint)
		*endpoint = (struct metrics_endpoint){.write = write, .context = context};
	int status = start(endpoint, where, &error);
	if (status) {
		log_error("--metrics: %s; there are no metrics, and everything else goes on",
			  error ? error : strerror(-status));
		free(error);
		free(endpoint);
		return NULL;
	}
	say_where(endpoint->server);
	return endpoint;
}

void metrics_endpoint_stop(struct metrics_endpoint *endpoint)
{
	if (!endpoint)
		return;
	http_server_stop(endpoint->server);
	free(endpoint->kept[0].bytes);
	free(endpoint->kept[1].bytes);
	free(endpoint);
}
