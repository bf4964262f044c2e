/* Which capabilities an agent keeps once it is set up. Any thread. */
#ifndef AGENT_RIGHTS_H
#define AGENT_RIGHTS_H

#include <stdbool.h>

#include "node-agent/base/capability_set.h"

struct agent_options;

/* Of what the calling thread is permitted, what an agent with these options needs. beside_job: its processes are
 * started with the rights that this one has. */
void agent_rights_choose(const struct agent_options *options, bool beside_job,
			 struct capability_set *rights);

#endif
