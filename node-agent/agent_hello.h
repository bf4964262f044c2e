/* The agent's identity in HELLO: a random epoch, its node and its boot. */
#ifndef AGENT_HELLO_H
#define AGENT_HELLO_H

#include <limits.h>

#include "proto/batch/message.h"

struct agent_hello {
	struct message_hello hello; /* its texts lie in this struct, are static, or are the caller's */
	char host[HOST_NAME_MAX + 1];
	char boot_id[64]; /* "": not known */
};

/* node_name: borrowed as long as *hello; NULL: SLURMD_NODENAME, else the hostname. 0; -EIO: no random epoch. */
int agent_hello_init(struct agent_hello *hello, const char *node_name);

#endif
