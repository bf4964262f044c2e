/* Tells the aggregator what the agent's program costs, with the process that samples counters: LEDGER_METER_AGENT and
 * LEDGER_METER_AGENT_RUN. In `flamegrid run` on one machine, the program is also the aggregator. Part of the agent;
 * only its loop calls it. */
#ifndef AGENT_COST_H
#define AGENT_COST_H

#include <stdbool.h>
#include <stdint.h>

struct agent;

/* Begins to count. */
void agent_cost_begin(struct agent *agent, uint64_t now_ns);

/* Sends the agent's ledger: every ten seconds, when the aggregator's lag has changed, and at the end. 0 or -errno of
 * publisher_send(). */
int agent_cost_tell(struct agent *agent, uint64_t now_ns, bool is_last);

#endif
