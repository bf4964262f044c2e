/* How long a job's end may be held up. All times count from the end of a rank's command, and each is part of the first
 * one, so they never add up. What is not done by then goes on in a process for which nobody waits. Pure. */
#ifndef END_BUDGET_H
#define END_BUDGET_H

#include <stdint.h>

#define END_BUDGET_MS       1800u /* of the two seconds; a process needs some time to end */
#define END_BUDGET_STORE_MS 1600u /* until all that the rank recorded is stored */
#define END_BUDGET_SEND_MS                                                                         \
	1400u /* until the job's aggregator has the node's profile, else it becomes a part */
#define END_BUDGET_ROUND_MS 400u /* of that, the least for the last round */

struct end_budget {
	uint64_t since_ns; /* end of the rank's command, of clock_now_ns() */
	uint32_t limit_ms; /* 0: there is nothing to wait for */
};

/* Returns how long the last round may take from now on. What a slow disk takes before it is part of the time. */
uint32_t end_budget_left_ms(const struct end_budget *budget, uint64_t now_ns);

/* Returns the time that is left of limit_ms since since_ns, as a timeout of poll(). 0: it is over. */
int end_budget_timeout_ms(uint64_t since_ns, uint32_t limit_ms, uint64_t now_ns);

#endif
