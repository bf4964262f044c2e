/* The aggregator's endpoint, and the log's lines about it. Single-threaded: only the agent loop calls it. */
#ifndef AGENT_ENDPOINT_H
#define AGENT_ENDPOINT_H

#include <stdbool.h>

struct agent;
struct agent_endpoint;

/* text: NULL: not known yet. 0 or -ENOMEM. */
int agent_endpoint_init(struct agent_endpoint *endpoint, const char *text, bool leaves_words);
void agent_endpoint_fini(struct agent_endpoint *endpoint);

/* Connects to an endpoint that another thread gave (agent_connect). 0 or -errno. */
int agent_endpoint_take(struct agent *agent);

/* Says once that the aggregator refuses us or our keys. */
void agent_endpoint_say_refusal(struct agent *agent);

/* Says why the loop ends by this error. */
void agent_endpoint_say_failure(const struct agent *agent, int error);

#endif
