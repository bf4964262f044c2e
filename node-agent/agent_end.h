/* The end of an agent. Capture windows end, then all rings are read to their end, names are looked up, and the
 * aggregator acknowledges everything. Single-threaded: only the agent loop calls it. */
#ifndef AGENT_END_H
#define AGENT_END_H

#include <stdint.h>

struct agent;

/* Ends capture windows, unless the end has begun. */
void agent_end_begin(struct agent *agent, uint64_t now_ns);

/* Closes the socket and begins the last passes, once capture windows have ended. 0 or -errno. */
int agent_end_drain(struct agent *agent, uint64_t now_ns);

/* Steps the publisher, and goes through the later phases as far as it can. 0; -ETIMEDOUT: gave up; other -errno. */
int agent_end_advance(struct agent *agent, uint64_t now_ns);

/* Returns the time at which the phase ends, unless an event ends it earlier; UINT64_MAX: PHASE_RUNNING. */
uint64_t agent_end_deadline_ns(const struct agent *agent);

#endif
