/* Reports, at the end of `run --agent`, the agent's records of the job. Main thread. */
#ifndef AGENT_RESULT_H
#define AGENT_RESULT_H

#include <stdint.h>

/* Makes a number for one run, which its processes give to the agent; never 0. */
uint32_t agent_result_make_run(void);

/* Waits, at the job's end, until all its records are stored: two seconds at most, or four if the agent does not answer.
 * Then it prints what was recorded and where it is, or why the job was not profiled. A line about a complete profile is
 * a notice. A line about processes that still run, or about loss, is a warning. */
void agent_result_say(const char *agent_path, uint32_t run);

#endif
