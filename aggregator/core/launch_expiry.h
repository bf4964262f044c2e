/* Decides which launches of a process are given up because too many of them have no record yet. A launch may have no
 * record at all (graph capture), and a record may have been lost. Pure; part of the correlator. One thread. */
#ifndef LAUNCH_EXPIRY_H
#define LAUNCH_EXPIRY_H

#include <stdint.h>

struct launch_history;

/* Forgets a share of the outstanding launches, oldest first, if they are more than launches_max. Adds the number of
 * unanswered ones to *nr_unanswered. 0 or -ENOMEM: perhaps none was forgotten, and the blocks to save are not known. */
int launch_expiry_run(struct launch_history *history, uint32_t launches_max,
		      uint64_t *nr_unanswered);

#endif
