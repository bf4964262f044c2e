#include "agent_endpoint.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "agent_state.h"

#include "base/log.h"
#include "node-agent/publish/publisher.h"
#include "node-agent/publish/publisher_lag.h"

#define NS_PER_MS 1000000ull

int agent_endpoint_init(struct agent_endpoint *endpoint, const char *text, bool leaves_words)
{
	endpoint->text = strdup(text ? text : "(not known yet)");
	endpoint->is_known = text != NULL;
	endpoint->leaves_words = leaves_words;
	return endpoint->text ? 0 : -ENOMEM;
}

void agent_endpoint_fini(struct agent_endpoint *endpoint)
{
	free(endpoint->text);
}

int agent_endpoint_take(struct agent *agent)
{
	struct key_set keys;
	bool has_keys;
	char *endpoint = agent_exchange_take_endpoint(&agent->exchange, &keys, &has_keys);

	if (!endpoint)
		return 0;
	free(agent->endpoint.text);
	agent->endpoint.text = endpoint;
	agent->endpoint.is_known = true;
	return publisher_connect(agent->publisher, endpoint, has_keys ? &keys : NULL);
}

void agent_endpoint_say_refusal(struct agent *agent)
{
	struct agent_endpoint *endpoint = &agent->endpoint;
	const char *why = publisher_error(agent->publisher);

	if (*why && !endpoint->problem_said) {
		endpoint->problem_said = true;
		log_warning("connect: %s: %s; we keep trying", endpoint->text, why);
	}
	if (endpoint->refusal_said || endpoint->leaves_words ||
	    !publisher_refusals(agent->publisher))
		return;
	endpoint->refusal_said = true;
	log_warning("connect: %s: the keys do not fit: who listens there does not take ours, or "
		    "does not have those that we expect; or it has as many connections as it may",
		    endpoint->text);
}

void agent_endpoint_say_failure(const struct agent *agent, int error)
{
	const struct agent_endpoint *endpoint = &agent->endpoint;
	const char *why = publisher_error(agent->publisher);
	const bool is_own = endpoint->text && publisher_lag_is_own(endpoint->text);

	if (error == -ETIMEDOUT && endpoint->leaves_words)
		return;
	if (error == -ETIMEDOUT && !endpoint->is_known)
		log_error(
			"no aggregator was found: what was recorded on this node is in no profile");
	else if (error == -ETIMEDOUT)
		log_error("%s%s: %llu of %llu frames were not acknowledged in %llu ms",
			  is_own ? "" : "connect: ",
			  is_own ? "this node's own aggregator" : endpoint->text,
			  (unsigned long long)(publisher_last_seq(agent->publisher) -
					       publisher_acked_seq(agent->publisher)),
			  (unsigned long long)publisher_last_seq(agent->publisher),
			  (unsigned long long)(agent->end.give_up_ns / NS_PER_MS));
	else if (*why)
		log_error("connect: %s: %s", endpoint->text, why);
	else
		log_error("loop: %s", strerror(-error));
}
