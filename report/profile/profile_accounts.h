/* In a merged profile one process may stand several times: once for each writer that recorded a part of it. Sums of the
 * parts add up. What the process itself counted for its whole life does not: each part has the count as it was then. */
#ifndef PROFILE_ACCOUNTS_H
#define PROFILE_ACCOUNTS_H

#include "aggregator/profile/roster.h"

/* Leaves each row of a process's own statistics (statistics_table.h) in one of its parts, as it was last. 0 or
 * -ENOMEM. */
int profile_join_accounts(struct roster *roster);

#endif
