/* What a running agent tells of the job that was given to it, and how `run --agent` says so at its end. Main thread. */
#ifndef AGENT_RESULT_H
#define AGENT_RESULT_H

#include <stdbool.h>
#include <stdint.h>

/* A number for one run, by which its processes name it to the agent; never 0. */
uint32_t agent_result_make_run(void);

/* Call it when the job has ended. Waits until all of it is stored, two seconds at most, or four if the agent does not
 * answer. Prints what was recorded and where it is, or that the job was not profiled, and why. A line about a
 * complete profile is a notice. A line about processes that still run, or about loss, is a warning. */
void agent_result_say(const char *agent_path, uint32_t run);

#endif
