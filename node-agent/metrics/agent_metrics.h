/* The agent's metrics: what it has read, sent and lost. GPU times are the aggregator's. Any thread. */
#ifndef AGENT_METRICS_H
#define AGENT_METRICS_H

#include <stdint.h>

struct agent_status;
struct metrics_text;

/* Writes the families of flamegrid_agent_. now_ns: CLOCK_MONOTONIC. */
void agent_metrics_of(const struct agent_status *status, uint64_t now_ns,
		      struct metrics_text *text);

/* The same for a struct agent; metrics_write_fn of metrics_endpoint.h. */
void agent_metrics_write(void *agent, struct metrics_text *text);

#endif
