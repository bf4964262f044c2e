/* The capabilities that an agent keeps once it is set up. Any thread. */
#ifndef AGENT_RIGHTS_H
#define AGENT_RIGHTS_H

#include <stdbool.h>

#include "node-agent/base/capability_set.h"

struct agent_options;

/* Chooses from the calling thread's permitted capabilities those that an agent with these options needs. beside_job:
 * this process also starts the job, whose processes begin with its capabilities. */
void agent_rights_choose(const struct agent_options *options, bool beside_job,
			 struct capability_set *rights);

#endif
