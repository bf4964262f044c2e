/* Reads what BPF programs and guests recorded, in passes over all rings. Passes follow each other quickly while there
 * is data, and slowly while there is none. guests/read_delay.h decides whether a pass reads a ring at all.
 * Single-threaded: only the agent loop calls it. */
#ifndef AGENT_PASS_H
#define AGENT_PASS_H

#include <stdbool.h>
#include <stdint.h>

struct agent;
struct agent_pass;

#define AGENT_PASS_INTERVAL_MS 10u /* between passes over busy rings */

/* busy_interval_ms: between passes over busy rings. 0: AGENT_PASS_INTERVAL_MS. */
void agent_pass_init(struct agent_pass *pass, uint32_t busy_interval_ms);

/* Makes one pass over all rings, or the rest of a pass that had no room. 0 or -errno. */
int agent_pass_run(struct agent *agent, uint64_t now_ns);

bool agent_pass_is_due(const struct agent *agent, uint64_t now_ns);

/* Returns the time of the next pass; UINT64_MAX: another event decides when it is due, or there is none to come. */
uint64_t agent_pass_deadline_ns(const struct agent *agent);

#endif
