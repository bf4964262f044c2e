#include "listening.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "receiver.h"

#include "base/error_text.h"
#include "base/log.h"
#include "proto/trust/endpoint.h"

#define IN_USE "another aggregator, or another program, listens there"

/* TCP on this machine is open to all its users, so it gets a warning. Files and names within this process are not. */
static int check(const char *endpoint, const struct listening_options *options, char **error)
{
	if (options->has_keys)
		return 0;
	if (endpoint_is_local(endpoint)) {
		if (strncmp(endpoint, "tcp://", strlen("tcp://")) == 0)
			log_warning("%s: without keys, every user of this machine can send to this "
				    "profile and command its agents",
				    endpoint);
		return 0;
	}
	if (!options->insecure)
		return error_text_set(
			error, -EACCES,
			"%s: others than this machine could connect, and nothing is "
			"authenticated or encrypted: refused without --keys or --insecure",
			endpoint);
	log_warning("%s: anybody who can reach it can read and write this profile", endpoint);
	return 0;
}

int listening_bind(struct listening *listening, struct receiver *receiver,
		   const struct listening_options *options, char **error)
{
	int status = 0;

	listening->nr_endpoints = 0;
	listening->endpoints =
		calloc(options->nr_endpoints ? options->nr_endpoints : 1, sizeof(char *));
	if (!listening->endpoints)
		return -ENOMEM;
	for (uint32_t i = 0; i < options->nr_endpoints && !status; i++) {
		status = check(options->endpoints[i], options, error);
		if (status)
			return status;
		status = receiver_bind(receiver, options->endpoints[i], &listening->endpoints[i]);
		if (status)
			return error_text_set(error, status, "cannot listen on %s: %s",
					      options->endpoints[i],
					      status == -EADDRINUSE ? IN_USE : strerror(-status));
		listening->nr_endpoints++;
	}
	return 0;
}

void listening_fini(struct listening *listening)
{
	for (uint32_t i = 0; i < listening->nr_endpoints; i++)
		free(listening->endpoints[i]);
	free(listening->endpoints);
	*listening = (struct listening){0};
}
