/* Decides which users the agent trusts: root and its own. Other users' files are read by threads beside the loop, and
 * places that are limited are divided among them (fair_shares.h). Pure; any thread. */
#ifndef TRUSTED_USER_H
#define TRUSTED_USER_H

#include <stdbool.h>
#include <sys/types.h>
#include <unistd.h>

static inline bool trusted_user(uid_t uid)
{
	return uid == 0 || uid == geteuid();
}

#endif
