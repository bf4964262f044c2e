/* The agent's loop. Single-threaded. */
#ifndef AGENT_LOOP_H
#define AGENT_LOOP_H

struct agent;

/* agent_run() (agent.h). */
int agent_loop_run(struct agent *agent);

#endif
