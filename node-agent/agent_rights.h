/* Which capabilities an agent keeps once it is set up. Any thread. */
#ifndef AGENT_RIGHTS_H
#define AGENT_RIGHTS_H

#include "capability_set.h"

struct agent_options;

/* Of what the calling thread is permitted, what an agent with these options needs. */
void agent_rights_choose(const struct agent_options *options, struct capability_set *rights);

#endif
